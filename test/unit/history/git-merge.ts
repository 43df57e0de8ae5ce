import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../helpers/process.ts";
import { tempDir } from "../../helpers/temp.ts";

/** Three versions of a text. */
export interface Triple {
  readonly base: Buffer;
  readonly ours: Buffer;
  readonly theirs: Buffer;
}

/** What `git merge-file -p` said. `bytes` hold conflict markers when it is not clean. */
export interface GitVerdict {
  readonly clean: boolean;
  readonly bytes: Buffer;
}

/** One shell runs git over all cases: starting git itself costs 2 ms, going through Node would double it. */
const LOOP =
  'i=0; while [ $i -lt "$1" ]; do git merge-file -p $i.ours $i.base $i.theirs >$i.out 2>/dev/null; echo $?; i=$((i+1)); done';

/** Merges every case with git. */
export async function gitMergeAll(cases: readonly Triple[]): Promise<GitVerdict[]> {
  const dir = tempDir("merge-file");
  cases.forEach(({ base, ours, theirs }, index) => {
    writeFileSync(join(dir, `${index}.base`), base);
    writeFileSync(join(dir, `${index}.ours`), ours);
    writeFileSync(join(dir, `${index}.theirs`), theirs);
  });
  const { stdout, code } = await runCommand("sh", ["-c", LOOP, "sh", String(cases.length)], { cwd: dir });
  const statuses = stdout.trim().split("\n").map(Number);
  if (code !== 0 || statuses.length !== cases.length)
    throw new Error(`git merge-file ran ${statuses.length} of ${cases.length} cases`);
  return statuses.map((status, index) => {
    if (status > 127) throw new Error(`git merge-file failed with ${status}`);
    return { clean: status === 0, bytes: readFileSync(join(dir, `${index}.out`)) };
  });
}
