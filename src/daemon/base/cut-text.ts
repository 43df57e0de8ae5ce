/** The first `most` characters of a text, and never half of a pair. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}
