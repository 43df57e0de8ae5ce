/**
 * A path as a model may spell it, as the workspace takes it: without `./`, doubled and trailing slashes. "." and "" are the root. What is
 * wrong with it otherwise (absolute, `..`) the workspace says.
 */
export function toolPath(asked: string): string {
  if (asked.startsWith("/")) return asked;
  return asked
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");
}
