export { compareBytes } from "./order.ts";
export { createTrees } from "./trees.ts";
