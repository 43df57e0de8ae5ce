import { fileURLToPath } from "node:url";

/** The repository's folder, with no slash at its end. */
export const repo = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
