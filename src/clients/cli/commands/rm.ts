import type { Command } from "../command.ts";
import { expectation, SAVE_FLAGS, SAVE_HELP, save, saveFields } from "../saving.ts";

/** Deletes one file: a Save whose edit says so. */
export const command: Command = {
  usage: "rm PATH --expect SHA [-m TEXT] …",
  words: [1, 1],
  flags: SAVE_FLAGS,
  help: SAVE_HELP,
  async run(context) {
    const edit = { path: context.positionals[0] ?? "", ...expectation(context), delete: true };
    return await save(context, { ...saveFields(context), edits: [edit] });
  },
};
