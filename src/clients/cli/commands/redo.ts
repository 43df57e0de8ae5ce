import { wholeId } from "../checkpoint-id.ts";
import type { Command } from "../command.ts";
import { takeBack, UNDO_FLAGS, UNDO_HELP, undoFields } from "../undoing.ts";

/** Brings again what an undo took back. */
export const command: Command = {
  usage: "redo CHECKPOINT [--preview] [--skip-conflicts] [-m TEXT]",
  words: [1, 1],
  flags: UNDO_FLAGS,
  help: [["CHECKPOINT", "the undo's checkpoint; the beginning of its id will do"], ...UNDO_HELP],
  async run(context) {
    const undo = await wholeId(context, context.positionals[0] ?? "");
    return await takeBack(context, "redo", { ...undoFields(context), undo });
  },
};
