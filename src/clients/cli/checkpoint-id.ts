import { UsageError } from "../sdk/index.ts";
import type { Context } from "./command.ts";
import { list, text } from "./output.ts";

/** Checkpoints looked through for one that is named by the beginning of its id. */
const LOOKED_THROUGH = 1_000;
/** Characters after "ck_" of a whole id. */
const ID_CHARACTERS = 20;

/**
 * A whole checkpoint id; the beginning of one, as a terminal shows it, is looked up among the newest. Whatever else it is stays as it is.
 * Throws UsageError when it fits none or several.
 */
export async function wholeId(context: Context, id: string): Promise<string>;
export async function wholeId(context: Context, id: string | undefined): Promise<string | undefined>;
export async function wholeId(context: Context, id: string | undefined): Promise<string | undefined> {
  if (id === undefined || !/^ck_[0-9a-v]{4,}$/.test(id) || id.length >= ID_CHARACTERS + 3) return id;
  const answer = await context.session().run("list_checkpoints", { limit: LOOKED_THROUGH });
  const ids = list(answer, "checkpoints").map((checkpoint) => text(checkpoint, "id"));
  const fitting = ids.filter((one) => one.startsWith(id));
  const [only] = fitting;
  if (only === undefined || fitting.length > 1) {
    const how = fitting.length > 1 ? "fits several checkpoints" : `fits none of the newest ${ids.length} checkpoints`;
    throw new UsageError(`${id} ${how}: give more of the id`);
  }
  return only;
}
