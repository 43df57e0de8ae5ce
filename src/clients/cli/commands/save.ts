import { UsageError } from "../../sdk/index.ts";
import { type Command, flag } from "../command.ts";
import { bytesFrom, contentFields, expectation, SAVE_FLAGS, SAVE_HELP, save, saveFields, saveFromJson } from "../saving.ts";

/** Saves one file from another file or standard input, or a whole Save given as JSON. */
export const command: Command = {
  usage: "save PATH --from FILE|- --expect SHA|absent [--on-conflict merge] [-m TEXT] …, or gin save < SAVE.json",
  words: [0, 1],
  flags: {
    ...SAVE_FLAGS,
    from: { type: "string" },
    executable: { type: "boolean" },
    "no-executable": { type: "boolean" },
    "json-request": { type: "string" },
  },
  help: [
    ["--from FILE|-", "the new content; - is standard input"],
    ["--executable, --no-executable", "set or clear the executable bit"],
    ["--json-request FILE|-", "a whole Save as JSON; standard input when no PATH is given"],
    ...SAVE_HELP,
  ],
  async run(context) {
    const [path] = context.positionals;
    const fields = saveFields(context);
    const source = flag(context, "json-request");
    if (path === undefined || source !== undefined) {
      if (path !== undefined) throw new UsageError("give a PATH or --json-request, not both");
      // Somebody who only typed the command's name wants its usage, not a silent wait for JSON.
      if (source === undefined && context.typed()) throw new UsageError(`usage: gin ${command.usage}`);
      const message = saveFromJson((await bytesFrom(context, source ?? "-")).toString("utf8"));
      return await save(context, { ...message, ...fields });
    }
    const { executable, "no-executable": notExecutable } = context.values;
    if (executable === true && notExecutable === true) throw new UsageError("--executable and --no-executable cannot both hold");
    const bit = executable === true ? true : notExecutable === true ? false : undefined;
    const from = flag(context, "from");
    if (from === undefined && bit === undefined) throw new UsageError("--from FILE (or - for standard input) is needed");
    const edit = {
      path,
      ...expectation(context),
      ...(from !== undefined && contentFields(await bytesFrom(context, from))),
      ...(bit !== undefined && { executable: bit }),
    };
    return await save(context, { ...fields, edits: [edit] });
  },
};
