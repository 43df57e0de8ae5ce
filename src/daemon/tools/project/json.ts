/** JSON of unknown shape; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: then the file is not what its name says, which is an answer and no failure.
    return undefined;
  }
}
