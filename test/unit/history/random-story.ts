import { merge3 } from "../../../src/daemon/history/index.ts";
import type { CauseName } from "../../../src/daemon/store/index.ts";
import type { Chance } from "../../helpers/random.ts";
import { bytesOf, type Entry } from "./slow-model.ts";
import type { Story } from "./storyline.ts";
import { randomEdit, randomText } from "./texts.ts";

/** A file's history as it was told, and where the file is. */
export interface Told {
  readonly entries: Entry[];
  /** By index of `entries`: the path it was under. */
  readonly paths: string[];
  /** By index: the checkpoint's id. */
  readonly ids: string[];
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/**
 * Tells the random history of one file under `name`: edits of several principals and from outside, deletions, renames, flips to
 * binary and back, undos of one checkpoint or several by a real merge, redos, and now and then an undo that brings something else.
 */
export async function tellRandom(story: Story, chance: Chance, name: string, steps: number): Promise<Told> {
  const told: Told = { entries: [], paths: [], ids: [] };
  const words = chance.pick([3, 20, 1_000_000]);
  let names = 0;
  let path = `${name}/0`;
  const put = async (content: string | null, how: { cause?: CauseName; undoes?: readonly number[]; to?: string } = {}) => {
    const { cause = "save", undoes = [], to } = how;
    const ids = undoes.map((generation) => told.ids[told.entries.findIndex((one) => one.generation === generation)] ?? "");
    const contents = to === undefined ? { [path]: content } : { [path]: null, [to]: content };
    const id = await story.tell(contents, {
      cause,
      principal: chance.pick(["alice", "bob", ""]),
      ...(undoes.length === 0 ? {} : { undoes: ids }),
      ...(to === undefined ? {} : { renames: { [to]: path } }),
    });
    path = to ?? path;
    told.entries.push({ generation: story.generation, content, undoes });
    told.paths.push(path);
    told.ids.push(id);
  };
  await put(randomText(chance, 12, words), { cause: chance.pick(["import", "save"]) });
  for (let step = 1; step < steps; step += 1) {
    const now = told.entries.at(-1)?.content ?? null;
    const kind = chance.int(20);
    const text = now?.replaceAll("\0", "") ?? "";
    if (now === null) {
      if (chance.maybe(0.5)) await undo(told, chance, put);
      else await put(randomText(chance, 8, words));
    } else if (kind < 9)
      await put(randomEdit(chance, text, 1 + chance.int(3), words), { cause: chance.pick(["save", "tool", "external"]) });
    else if (kind === 9) await put(null);
    else if (kind === 10) await put(`\0${text}`);
    else if (kind < 13) {
      names += 1;
      await put(chance.maybe(0.5) ? now : randomEdit(chance, text, 1, words), { to: `${name}/${names}` });
    } else if (kind === 13) await put(now);
    else await undo(told, chance, put);
  }
  return told;
}

/** Takes back one to three checkpoints newest first, merging; what conflicts is taken back as it was, with all that came after. */
async function undo(
  told: Told,
  chance: Chance,
  put: (content: string | null, how: { cause: CauseName; undoes: readonly number[] }) => Promise<void>,
): Promise<void> {
  const { entries } = told;
  const indexes = new Set(Array.from({ length: 1 + chance.int(3) }, () => 1 + chance.int(Math.max(1, entries.length - 1))));
  const chosen = [...indexes].filter((at) => at < entries.length).sort((one, other) => other - one);
  if (chosen.length === 0) return;
  let content = entries.at(-1)?.content ?? null;
  for (const at of chosen) {
    const made = entries[at]?.content ?? null;
    const before = entries[at - 1]?.content ?? null;
    if (made === content) content = before;
    else if (made !== null && before !== null && content !== null) {
      const merged = merge3(bytesOf(made), bytesOf(before), bytesOf(content));
      if (merged.clean) content = textOf(merged.bytes);
    }
  }
  const odd = chance.maybe(0.1) && content !== null ? randomEdit(chance, content.replaceAll("\0", ""), 2, 20) : content;
  const undoes = chosen.map((at) => entries[at]?.generation ?? 0);
  await put(odd, { cause: chance.pick(["undo", "redo"]), undoes });
}
