import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { type Command, type Context, type Flags, flag } from "../command.ts";
import { bytesFrom, contentFields } from "../saving.ts";
import {
  APPLY_FLAGS,
  APPLY_HELP,
  ASK_FLAGS,
  ASK_HELP,
  applyFields,
  askFields,
  endFields,
  listField,
  PLACE_FLAGS,
  PLACE_HELP,
  placeFields,
  placeOf,
} from "./question.ts";
import { showAnswer } from "./show.ts";

/** What one command asks. */
interface Asked {
  /** After "gin lsp ". */
  readonly usage: string;
  readonly words: readonly [fewest: number, most: number];
  readonly flags?: Flags;
  readonly help?: Command["help"];
  readonly message: (context: Context) => JsonObject | Promise<JsonObject>;
}

function asking({ usage, words, flags = {}, help = [], message }: Asked): Command {
  return {
    usage: `lsp ${usage}`,
    words,
    flags: { ...flags, ...ASK_FLAGS },
    help: [...help, ...ASK_HELP],
    async run(context) {
      const asked = { ...(await message(context)), ...askFields(context) };
      showAnswer(context, await context.session().run("lsp", asked));
      return undefined;
    },
  };
}

/** A command about a place whose answer is a list. */
function about(name: string, action: string): Command {
  return asking({
    usage: `${name} [PATH[:LINE[:CHARACTER]]] [--symbol NAME]`,
    words: [0, 1],
    flags: PLACE_FLAGS,
    help: PLACE_HELP,
    message: (context) => ({ action, ...placeOf(context) }),
  });
}

/** A server of the table, or all: what runs now is ended or told of. */
function servers(action: "status" | "restart"): Command {
  return asking({ usage: `${action} [--server ID]`, words: [0, 0], message: () => ({ action }) });
}

/** Commands of `gin lsp` by their second word; each has a file that exports it. */
export const LSP_COMMANDS = {
  definition: about("definition", "definition"),
  "type-definition": about("type-definition", "type_definition"),
  implementation: about("implementation", "implementation"),
  references: asking({
    usage: "references [PATH[:LINE[:CHARACTER]]] [--symbol NAME] [--no-declaration]",
    words: [0, 1],
    flags: { ...PLACE_FLAGS, "no-declaration": { type: "boolean" } },
    help: [...PLACE_HELP, ["--no-declaration", "leave the declaration out"]],
    message: (context) => ({
      action: "references",
      ...placeOf(context),
      ...(context.values["no-declaration"] === true && { include_declaration: false }),
    }),
  }),
  hover: about("hover", "hover"),
  symbols: asking({
    usage: "symbols PATH",
    words: [1, 1],
    message: (context) => ({ action: "symbols", path: context.positionals[0] ?? "" }),
  }),
  "workspace-symbols": asking({
    usage: "workspace-symbols QUERY",
    words: [1, 1],
    message: (context) => ({ action: "workspace_symbols", query: context.positionals[0] ?? "" }),
  }),
  diagnostics: asking({
    usage: "diagnostics [PATH…] [--checkpoint ID]",
    words: [0, 200],
    flags: { checkpoint: { type: "string" } },
    help: [
      ["PATH…", "these files; none: the whole workspace where the server can, else what is open and changed"],
      ["--checkpoint ID", "the files that this checkpoint touched"],
    ],
    message(context) {
      const checkpoint = flag(context, "checkpoint");
      const { positionals: paths } = context;
      if (checkpoint !== undefined && paths.length > 0) throw new UsageError("either files or --checkpoint");
      const [path] = paths;
      const which = paths.length === 1 ? { path: path ?? "" } : paths.length > 1 ? { paths: [...paths] } : {};
      return { action: "diagnostics", ...which, ...(checkpoint !== undefined && { checkpoint }) };
    },
  }),
  calls: asking({
    usage: "calls [PATH[:LINE[:CHARACTER]]] [--symbol NAME] [--out]",
    words: [0, 1],
    flags: { ...PLACE_FLAGS, out: { type: "boolean" } },
    help: [...PLACE_HELP, ["--out", "what it calls; default: who calls it"]],
    message: (context) => ({
      action: context.values.out === true ? "outgoing_calls" : "incoming_calls",
      ...placeOf(context),
    }),
  }),
  rename: asking({
    usage: "rename [PATH[:LINE[:CHARACTER]]] [--symbol NAME] --to NAME [--apply]",
    words: [0, 1],
    flags: { ...PLACE_FLAGS, to: { type: "string" }, ...APPLY_FLAGS },
    help: [...PLACE_HELP, ["--to NAME", "the new name"], ...APPLY_HELP],
    message(context) {
      const to = flag(context, "to");
      if (to === undefined) throw new UsageError("--to NAME says the new name");
      return { action: "rename", ...placeOf(context), new_name: to, ...applyFields(context) };
    },
  }),
  actions: asking({
    usage: "actions PATH[:LINE[:CHARACTER]] [--end LINE[:CHARACTER]] [--only KIND] [--take ID [--apply]]",
    words: [1, 1],
    flags: { end: { type: "string" }, only: { type: "string", multiple: true }, take: { type: "string" }, ...APPLY_FLAGS },
    help: [
      ["--end LINE:CHARACTER", "end of a range, exclusive"],
      ["--only KIND", "quickfix, refactor, source.organizeImports …; may be repeated"],
      ["--take ID", "work this one out to an edit"],
      ...APPLY_HELP,
    ],
    message(context) {
      const take = flag(context, "take");
      if (context.values.apply === true && take === undefined) throw new UsageError("--take ID says which one is to be saved");
      return {
        action: "code_actions",
        ...placeFields(context.positionals[0] ?? ""),
        ...endFields(flag(context, "end")),
        ...listField(context, "only", "only"),
        ...(take !== undefined && { code_action: take }),
        ...applyFields(context),
      };
    },
  }),
  format: asking({
    usage: "format PATH[:LINE] [--end LINE[:CHARACTER]] [--apply]",
    words: [1, 1],
    flags: { end: { type: "string" }, ...APPLY_FLAGS },
    help: [["PATH:LINE --end LINE", "a range; the end is exclusive"], ...APPLY_HELP],
    message: (context) => ({
      action: "format",
      ...placeFields(context.positionals[0] ?? ""),
      ...endFields(flag(context, "end")),
      ...applyFields(context),
    }),
  }),
  "organize-imports": asking({
    usage: "organize-imports PATH [--apply]",
    words: [1, 1],
    flags: APPLY_FLAGS,
    help: APPLY_HELP,
    message: (context) => ({ action: "organize_imports", path: context.positionals[0] ?? "", ...applyFields(context) }),
  }),
  signature: about("signature", "signature"),
  completion: about("completion", "completion"),
  check: asking({
    usage: "check PATH --from FILE|- | --delete",
    words: [1, 1],
    flags: { from: { type: "string" }, delete: { type: "boolean" } },
    help: [
      ["--from FILE|-", "the whole text to be tried, from a file or standard input"],
      ["--delete", "try without the file"],
    ],
    async message(context) {
      const from = flag(context, "from");
      const gone = context.values.delete === true;
      if ((from === undefined) === !gone) throw new UsageError("--from FILE (or -) has the text to be tried, or --delete");
      const path = context.positionals[0] ?? "";
      if (from === undefined) return { action: "check", trials: [{ path, delete: true }] };
      const { text } = contentFields(await bytesFrom(context, from));
      if (text === undefined) throw new UsageError(`${from} is not UTF-8: a server would be shown another text`);
      return { action: "check", trials: [{ path, text }] };
    },
  }),
  view: asking({
    usage: "view ID",
    words: [1, 1],
    help: [["ID", "of a location outside the workspace, as definition and references tell it"]],
    message: (context) => ({ action: "view", view: context.positionals[0] ?? "" }),
  }),
  status: servers("status"),
  restart: servers("restart"),
} as const satisfies { readonly [word: string]: Command };
