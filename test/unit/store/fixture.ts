import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { openStore, type Store, type StoreOptions } from "../../../src/daemon/store/index.ts";

export * from "./line.ts";

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Runs after the test, the last one given first. */
export function afterwards(cleanup: () => Promise<void> | void): void {
  cleanups.push(cleanup);
}

/** A fresh directory, gone after the test. */
export function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "gin-store-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A store that is closed after the test. */
export async function opened(options: Partial<StoreOptions> = {}): Promise<Store> {
  const store = await openStore({ directory: options.directory ?? join(freshDirectory(), "data"), inline: true, ...options });
  cleanups.push(() => store.close());
  return store;
}
