import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atTeardown } from "./teardown.ts";

/** A fresh directory of mode 0700 by its real path (no symlink on the way), removed at teardown. */
export function tempDir(name = "test"): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), `gin-${name}-`)));
  atTeardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}

/** A fresh workspace root and host directory side by side, so that neither holds the other. */
export function tempHost(): { readonly root: string; readonly host: string } {
  const dir = tempDir("host");
  const root = join(dir, "root");
  const host = join(dir, "host");
  mkdirSync(root);
  mkdirSync(host, { mode: 0o700 });
  return { root, host };
}
