// Injected by esbuild where a bundled CommonJS module names them; ESM has neither.
import { fileURLToPath } from "node:url";

/** The bundle's own file. */
export const __filename = fileURLToPath(import.meta.url);

/** dist/. */
export const __dirname = fileURLToPath(new URL(".", import.meta.url));
