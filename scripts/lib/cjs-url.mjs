// Injected by esbuild into the CommonJS bundle where a bundled ES module names import.meta.url; left out where nothing live does.
import { pathToFileURL } from "node:url";

/** The bundle's own file, as a URL. */
export const __ginUrl = /* @__PURE__ */ (() => pathToFileURL(__filename).href)();
