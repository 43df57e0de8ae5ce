import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store, type StoreOptions } from "../../../src/daemon/store/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";

export * from "./line.ts";

/** A fresh directory, gone after the test. */
export function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "gin-store-"));
  atTeardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A store that is closed after the test. */
export async function opened(options: Partial<StoreOptions> = {}): Promise<Store> {
  const store = await openStore({ directory: options.directory ?? join(freshDirectory(), "data"), inline: true, ...options });
  atTeardown(() => store.close());
  return store;
}
