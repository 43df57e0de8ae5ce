import * as fs from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { GinError, nodeFs, noFailPoints, systemRandom } from "../../../src/daemon/base/index.ts";
import { type ConfinedRoot, openRoot } from "../../../src/daemon/workspace/files/index.ts";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { tempDir } from "../../helpers/temp.ts";
import { openat2, type Resolved } from "./openat2.ts";

/** Few names, so that random paths meet what is there. */
const NAMES = ["a", "b", "c", "d"];
/** Cases asked of one tree. */
const PER_TREE = 250;

const COUNT = process.env.GIN_G5 === undefined ? proofCount("G5", { test: 20_000, proof: 500_000 }) : Number(process.env.GIN_G5);

/** One answer in words both sides can give. */
type Verdict = string;

const REASON_OF: Record<string, string> = {
  EXDEV: "PATH_OUTSIDE_WORKSPACE",
  ENOTDIR: "NOT_A_DIRECTORY",
  ELOOP: "PATH_INVALID",
  ENOENT: "missing",
};

function theirs(resolved: Resolved, top: string): Verdict {
  if ("errno" in resolved) return REASON_OF[resolved.errno] ?? resolved.errno;
  try {
    const stat = fs.fstatSync(resolved.fd, { bigint: true });
    return `${stat.ino} at ${fs.readlinkSync(`/proc/self/fd/${resolved.fd}`).slice(top.length + 1)}`;
  } finally {
    fs.closeSync(resolved.fd);
  }
}

function ours(root: ConfinedRoot, path: string, follow: boolean): Verdict {
  try {
    const { path: canonical, stat } = root.locate(path, follow);
    return stat === undefined ? "missing" : `${stat.inode} at ${canonical}`;
  } catch (thrown) {
    if (!(thrown instanceof GinError)) throw thrown;
    return thrown.reason === "PATH_NOT_FOUND" ? "missing" : thrown.reason;
  }
}

/** A symlink's target: everything a path may be made of, `..`, dots, doubled and trailing slashes, sometimes absolute. */
function target(random: Chance, top: string): string {
  const parts = Array.from({ length: 1 + random.int(6) }, () =>
    random.maybe(0.35) ? ".." : random.maybe(0.1) ? "." : random.pick(NAMES),
  );
  const joined = parts.join(random.maybe(0.05) ? "//" : "/") + (random.maybe(0.1) ? "/" : "");
  return random.maybe(0.03) ? `${top}/${joined}` : random.maybe(0.02) ? "/" : joined;
}

function grow(random: Chance, top: string): void {
  const dirs = [top];
  for (let i = 0; i < 28; i++) {
    const at = join(random.pick(dirs), random.pick(NAMES));
    if (fs.lstatSync(at, { throwIfNoEntry: false }) !== undefined) continue;
    const kind = random.next();
    if (kind < 0.4) {
      fs.mkdirSync(at);
      dirs.push(at);
    } else if (kind < 0.55) fs.writeFileSync(at, "");
    else fs.symlinkSync(target(random, top), at);
  }
}

it(`walks agree with openat2(RESOLVE_BENEATH) on ${COUNT} paths in random trees`, { timeout: 600_000 }, (ctx) => {
  const oracle = openat2();
  if (oracle === undefined) return ctx.skip("this kernel has no openat2, or koffi is not installed");
  const random = chance("paths against openat2");
  const base = tempDir("oracle");
  const verdicts = new Map<string, number>();
  const disagreements: string[] = [];
  let done = 0;
  for (let tree = 0; done < COUNT; tree++) {
    const top = join(base, `t${tree}`);
    fs.mkdirSync(top);
    // Beside the tree lies what a path that leaves it would find.
    if (tree === 0) for (const name of NAMES) fs.writeFileSync(join(base, name), "");
    grow(random, top);
    const root = openRoot(top, { fs: nodeFs, random: systemRandom, failPoints: noFailPoints });
    const fd = fs.openSync(top, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    for (let i = 0; i < PER_TREE && done < COUNT; i++, done++) {
      const path = Array.from({ length: 1 + random.int(6) }, () => random.pick(NAMES)).join("/");
      const follow = random.maybe(0.7);
      const expected = theirs(oracle(fd, path, follow ? 0 : fs.constants.O_NOFOLLOW), top);
      const got = ours(root, path, follow);
      if (got !== expected)
        disagreements.push(`tree ${tree}: ${path} (follow ${follow}): the kernel says ${expected}, we say ${got}`);
      const kind = expected.includes(" at ") ? "found" : expected;
      verdicts.set(kind, (verdicts.get(kind) ?? 0) + 1);
    }
    fs.closeSync(fd);
    root.close();
    fs.rmSync(top, { recursive: true });
  }
  reportProof({ row: "G5", count: done, violations: disagreements.length, seed: random.seed, ...Object.fromEntries(verdicts) });
  expect(disagreements.slice(0, 5)).toEqual([]);
  // The trees must have asked every question.
  for (const kind of ["found", "missing", "PATH_OUTSIDE_WORKSPACE", "NOT_A_DIRECTORY", "PATH_INVALID"])
    expect(verdicts.get(kind) ?? 0, kind).toBeGreaterThan(COUNT / 2_000);
});
