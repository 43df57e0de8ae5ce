import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import {
  type FailPoints,
  type Fs,
  GinError,
  nodeFs,
  noFailPoints,
  type Reason,
  systemRandom,
} from "../../../src/daemon/base/index.ts";
import { type ConfinedRoot, openRoot, type RootOptions } from "../../../src/daemon/workspace/files/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";

/** The ways a root can work on this machine; the contract holds for each. */
export const VARIANTS: readonly { readonly name: string; readonly options: RootOptions }[] = [
  { name: "handle walk, exchange", options: {} },
  { name: "handle walk, rename and link", options: { exchange: "off" } },
  { name: "identity check, rename and link", options: { exchange: "off", confinement: "identity-check" } },
];

/** An open root with a directory beside it that nothing may reach. */
export interface Site {
  readonly root: ConfinedRoot;
  /** Absolute path of the workspace's directory. */
  readonly dir: string;
  /** Absolute path of a directory next to it. */
  readonly outside: string;
}

/** Opens a fresh root; closed and removed at teardown. */
export function site(
  options: RootOptions = {},
  ports: { readonly fs?: Fs; readonly failPoints?: FailPoints; readonly under?: string } = {},
): Site {
  const base = ports.under ?? tempDir("files");
  const dir = join(base, "root");
  const outside = join(base, "root-evil");
  mkdirSync(dir);
  mkdirSync(outside);
  const root = openRoot(
    dir,
    { fs: ports.fs ?? nodeFs, random: systemRandom, failPoints: ports.failPoints ?? noFailPoints },
    options,
  );
  atTeardown(() => root.close());
  return { root, dir, outside };
}

/** Runs what must be refused; gives the refusal, which never names the machine's directories. */
export function refused(act: () => unknown, reason: Reason): GinError {
  let thrown: unknown;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  expect(thrown, `${reason} was expected`).toBeInstanceOf(GinError);
  const error = thrown as GinError;
  expect(error.reason, error.message).toBe(reason);
  expect(JSON.stringify([error.message, error.suggestion, error.facts])).not.toMatch(/\/proc\/|gin-files-/);
  return error;
}
