import { GinError } from "../base/index.ts";
import type { SaveCommit } from "../store/index.ts";
import type { Rescued } from "./apply.ts";
import type { WorkspaceDeps } from "./deps.ts";
import type { Observed } from "./observe.ts";
import { type Author, type Line, planCommit, planRescue, viewAt } from "./plan.ts";
import type { SaveOutcome } from "./types.ts";

/** In whose name a content is put back where no request is known any more. */
export const NOBODY: Author = {
  principal: "",
  requestId: "",
  message: "put back after an outside edit raced a save",
  cause: "save",
};

/** Records outside edits that stay on disk, in a commit of their own. Gives where the line stands then. */
export async function recordOutside(deps: WorkspaceDeps, from: Line, outside: readonly Observed[]): Promise<Line> {
  const plan = await planCommit(viewAt(deps, from), from, outside, undefined, undefined, undefined);
  if (plan.commit === undefined) return from;
  await commit(deps, plan.commit);
  return plan.line;
}

/**
 * Records outside edits that were displaced. `moved` hears where the line stands after each commit, also when a later one is refused:
 * several displaced files of one path take one each.
 */
export async function recordRescued(
  deps: WorkspaceDeps,
  from: Line,
  author: Author,
  rescued: readonly Rescued[],
  moved: (line: Line) => void,
): Promise<SaveOutcome["rescued"]> {
  const recorded: SaveOutcome["rescued"][number][] = [];
  let line = from;
  for (let rest = rescued; rest.length > 0; ) {
    const first = new Map(rest.toReversed().map((one) => [one.path, one]));
    const some = rest.filter((one) => first.get(one.path) === one);
    rest = rest.filter((one) => first.get(one.path) !== one);
    const { tree } = line;
    const withOurs = some.map((one) => ({ ...one, ours: deps.store.trees.get(tree, one.path) }));
    const plan = await planRescue(viewAt(deps, line), line, author, withOurs);
    await commit(deps, plan.commit);
    line = plan.line;
    moved(line);
    const paths = some.map(({ path }) => path);
    deps.log.info({ paths, checkpoint: plan.checkpoint }, "an outside edit raced a save and was kept");
    for (const { path, content } of some) recorded.push({ path, sha256: content.sha256, checkpoint: plan.checkpoint });
  }
  return recorded;
}

async function commit({ store, boot }: WorkspaceDeps, save: SaveCommit): Promise<void> {
  const [result] = await store.write("commit", { saves: [save], boot });
  if (result !== "committed") throw new GinError("INTERNAL", "an outside edit could not be recorded");
}
