/** JSON of unknown shape; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: then the file is not what its name says, which is an answer and no failure.
    return undefined;
  }
}

/** Whether it is an object, and not an array. */
export function isMap(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
