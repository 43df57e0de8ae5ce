import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { GinError, nodeFs, noFailPoints, systemRandom } from "../../../src/daemon/base/index.ts";
import { type ConfinedRoot, openRoot } from "../../../src/daemon/workspace/files/index.ts";
import { spawnOwned } from "../../helpers/process.ts";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { tempDir } from "../../helpers/temp.ts";

/** Milliseconds each operation races. */
const EACH_MS = Number(process.env.GIN_G6_MS ?? proofCount("G6", { test: 1_500, proof: 4_000 }));
/** Milliseconds the naive control may take to leak. */
const CONTROL_MS = 60_000;
const SECRET = "the secret outside";

/** Operations under attack; each throws or returns normally, and "escaped" says that it saw what is outside. */
const OPERATIONS: Readonly<Record<string, (root: ConfinedRoot) => "escaped" | undefined>> = {
  read: (root) =>
    ["d/secret", "f"].some((path) => root.readFile(path, 100).bytes.toString() === SECRET) ? "escaped" : undefined,
  save(root) {
    const displaced = root.place(root.stage("d/secret", Buffer.from("saved"), 0o644), "replace");
    if (displaced === undefined) return undefined;
    const was = root.readTemp(displaced.temp, 100).bytes.toString();
    root.discard(displaced.temp);
    return was === SECRET ? "escaped" : undefined;
  },
  delete(root) {
    const displaced = root.takeAway("d/victim");
    if (displaced !== undefined) root.discard(displaced.temp);
    root.place(root.stage("d/victim", Buffer.from("again"), 0o644), "create");
    return undefined;
  },
  rename(root) {
    for (const [from, to] of [
      ["d/one", "d/two"],
      ["d/two", "d/one"],
    ] as const) {
      const displaced = root.takeAway(from);
      if (displaced !== undefined) root.putBack(displaced, to);
    }
    return undefined;
  },
  mkdir(root) {
    root.removeMade(root.makeParents("d/new/deep/x"));
    return undefined;
  },
  list: (root) => (root.list("d").entries.some((entry) => entry.name === "marker") ? "escaped" : undefined),
};

/** The directory outside as it must stay: any entry made, removed or replaced in it shows. */
function fingerprint(outside: string): string {
  const self = fs.statSync(outside, { bigint: true });
  const entries = fs.readdirSync(outside).map((name) => {
    const stat = fs.lstatSync(join(outside, name), { bigint: true });
    return `${name} ${stat.ino} ${stat.mtimeNs} ${stat.ctimeNs} ${fs.readFileSync(join(outside, name), "utf8")}`;
  });
  return [`${self.mtimeNs} ${self.ctimeNs} ${self.mode}`, ...entries].join("\n");
}

/** What most servers do: resolve, compare the beginning, open. */
function naiveRead(dir: string, path: string): string | undefined {
  try {
    const real = fs.realpathSync(join(dir, path));
    if (!real.startsWith(`${dir}/`)) return undefined;
    return fs.readFileSync(join(dir, path), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    return undefined;
  }
}

it(`six operations, ${EACH_MS} ms each against a flipping directory and file: nothing escapes, the naive control does`, {
  timeout: EACH_MS * 6 + CONTROL_MS + 60_000,
}, async (ctx) => {
  const base = tempDir("race");
  const dir = join(base, "root");
  const outside = join(base, "root-evil");
  for (const at of [dir, join(dir, "d"), outside]) fs.mkdirSync(at);
  fs.writeFileSync(join(dir, "f"), "inside");
  for (const name of ["secret", "victim", "one"]) {
    fs.writeFileSync(join(dir, "d", name), "inside");
    fs.writeFileSync(join(outside, name), SECRET);
  }
  fs.writeFileSync(join(outside, "marker"), SECRET);
  const before = fingerprint(outside);
  const root = openRoot(dir, { fs: nodeFs, random: systemRandom, failPoints: noFailPoints });
  if (root.features.replace !== "exchange") {
    root.close();
    return ctx.skip("the attacker exchanges names by renameat2, which this machine or koffi lacks");
  }

  const attacker = spawnOwned(process.execPath, [
    join(dirname(fileURLToPath(import.meta.url)), "flipper.mjs"),
    dir,
    String((EACH_MS * 6 + CONTROL_MS) / 1000),
  ]);
  const lines = createInterface({ input: attacker.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");

  let escapes = 0;
  const counts: Record<string, number> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const until = performance.now() + EACH_MS;
    let done = 0;
    let refused = 0;
    while (performance.now() < until) {
      try {
        if (operation(root) === "escaped") escapes++;
        done++;
      } catch (thrown) {
        if (!(thrown instanceof GinError)) throw thrown;
        expect(["PATH_OUTSIDE_WORKSPACE", "PATH_NOT_FOUND", "NOT_A_DIRECTORY", "NOT_A_FILE"]).toContain(thrown.reason);
        refused++;
      }
    }
    counts[name] = done;
    counts[`${name}_refused`] = refused;
    if (fingerprint(outside) !== before) escapes++;
  }

  let control = 0;
  const until = performance.now() + CONTROL_MS;
  while (control === 0 && performance.now() < until) {
    for (let i = 0; i < 1_000; i++) if (naiveRead(dir, i % 2 === 0 ? "d/secret" : "f") === SECRET) control++;
  }
  attacker.stdin.end();
  const flips = Number((await lines.next()).value);
  root.close();
  reportProof({
    row: "G6",
    count: Object.keys(OPERATIONS).length,
    violations: escapes,
    control,
    flips,
    each_ms: EACH_MS,
    ...counts,
  });
  expect(escapes).toBe(0);
  expect(fingerprint(outside)).toBe(before);
  expect(control).toBeGreaterThan(0);
  expect(flips).toBeGreaterThan(100);
  for (const name of Object.keys(OPERATIONS)) expect(counts[name], name).toBeGreaterThan(0);
  // Both states were met: with neither refusals nor successes nothing was raced.
  expect(Object.entries(counts).some(([name, count]) => name.endsWith("_refused") && count > 0)).toBe(true);
});
