// The door of the tool memory.
export { memory } from "./tool.ts";
