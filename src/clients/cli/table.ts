import type { Command } from "./command.ts";
import type { LspWord } from "./commands/lsp.ts";

/** A row of the command table. Its file is loaded when it is called, so that no command pays for another. */
export interface Row {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

/** One of the commands of `gin lsp`, which are questions of one form and share a file. */
const lsp =
  (word: LspWord): Row["load"] =>
  async () =>
    (await import("./commands/lsp.ts")).lspCommand(word);

/** Every command by its words. The order is help's. */
export const COMMANDS: { readonly [words: string]: Row } = {
  serve: { summary: "serve a directory in the foreground", load: () => import("./commands/serve.ts") },
  start: { summary: "start the host's daemon in the background", load: () => import("./commands/start.ts") },
  stop: { summary: "drain and stop it", load: () => import("./commands/stop.ts") },
  status: { summary: "what it is doing", load: () => import("./commands/status.ts") },
  logs: { summary: "its log", load: () => import("./commands/logs.ts") },
  doctor: { summary: "check the host and say what mends it", load: () => import("./commands/doctor.ts") },
  backup: { summary: "copy the store while it is in use", load: () => import("./commands/backup.ts") },
  restore: { summary: "put a backup in the store's place", load: () => import("./commands/restore.ts") },
  gc: { summary: "collect garbage; history down to its quota", load: () => import("./commands/gc.ts") },
  read: { summary: "print a file, or list a directory", load: () => import("./commands/read.ts") },
  save: { summary: "save a file, or a whole Save from JSON", load: () => import("./commands/save.ts") },
  rm: { summary: "delete a file", load: () => import("./commands/rm.ts") },
  diff: { summary: "what differs between two snapshots, as a patch", load: () => import("./commands/diff.ts") },
  log: { summary: "checkpoints, newest first", load: () => import("./commands/log.ts") },
  origin: { summary: "who wrote which line, and why", load: () => import("./commands/origin.ts") },
  annotate: { summary: "write a note on a checkpoint or on lines", load: () => import("./commands/annotate.ts") },
  annotations: { summary: "notes, and where their lines stand now", load: () => import("./commands/annotations.ts") },
  undo: { summary: "take work back: a checkpoint, a request, a principal's, a path's", load: () => import("./commands/undo.ts") },
  redo: { summary: "bring again what an undo took back", load: () => import("./commands/redo.ts") },
  watch: { summary: "what happens, as it happens", load: () => import("./commands/watch.ts") },
  explain: { summary: "what an id, a request or a reason is", load: () => import("./commands/explain.ts") },
  details: { summary: "the long list another answer only counted", load: () => import("./commands/details.ts") },
  outcome: { summary: "what became of a request", load: () => import("./commands/outcome.ts") },
  context: { summary: "where the workspace stands", load: () => import("./commands/context.ts") },
  capabilities: { summary: "what works here, for this principal", load: () => import("./commands/capabilities.ts") },
  tool: { summary: "run an agent tool, strictly from one JSON object", load: () => import("./commands/tool.ts") },
  call: { summary: "send one gin.v1.Request as JSON", load: () => import("./commands/call.ts") },
  "lsp definition": { summary: "where a name is declared", load: lsp("definition") },
  "lsp type-definition": { summary: "where its type is declared", load: lsp("type-definition") },
  "lsp implementation": { summary: "what implements it", load: lsp("implementation") },
  "lsp references": { summary: "where it is used", load: lsp("references") },
  "lsp hover": { summary: "what a language server says of a place", load: lsp("hover") },
  "lsp symbols": { summary: "names a file declares, as a tree", load: lsp("symbols") },
  "lsp workspace-symbols": { summary: "names of the workspace that fit a query", load: lsp("workspace-symbols") },
  "lsp diagnostics": { summary: "errors and warnings, of files or the workspace", load: lsp("diagnostics") },
  "lsp calls": { summary: "who calls a function, or what it calls", load: lsp("calls") },
  "lsp rename": { summary: "rename a symbol everywhere, as one save", load: lsp("rename") },
  "lsp actions": { summary: "quick fixes and refactorings at a place", load: lsp("actions") },
  "lsp format": { summary: "format a file", load: lsp("format") },
  "lsp organize-imports": { summary: "sort and clean its imports", load: lsp("organize-imports") },
  "lsp signature": { summary: "parameters of the call at a place", load: lsp("signature") },
  "lsp completion": { summary: "what could be written at a place", load: lsp("completion") },
  "lsp check": { summary: "which diagnostics an edit would bring, without making it", load: lsp("check") },
  "lsp view": { summary: "read a file outside that an answer named", load: lsp("view") },
  "lsp status": { summary: "language servers and their states", load: lsp("status") },
  "lsp restart": { summary: "end them; the next question starts them anew", load: lsp("restart") },
  "lease acquire": { summary: "take a lease on some paths", load: () => import("./commands/lease-acquire.ts") },
  "lease renew": { summary: "prolong a lease", load: () => import("./commands/lease-renew.ts") },
  "lease release": { summary: "give a lease back", load: () => import("./commands/lease-release.ts") },
  "lease list": { summary: "who holds what", load: () => import("./commands/lease-list.ts") },
  "lease break": { summary: "end somebody's lease (owner)", load: () => import("./commands/lease-break.ts") },
  "workspace open": { summary: "serve one more directory", load: () => import("./commands/workspace-open.ts") },
  "workspace list": { summary: "the host's workspaces", load: () => import("./commands/workspace-list.ts") },
  "workspace close": { summary: "let go of a directory; its history stays", load: () => import("./commands/workspace-close.ts") },
  "workspace relink": {
    summary: "take a moved directory where it is now",
    load: () => import("./commands/workspace-relink.ts"),
  },
  "workspace trust": {
    summary: "let language servers run its code, or no more",
    load: () => import("./commands/workspace-trust.ts"),
  },
  "workspace remove": { summary: "give up a workspace's history", load: () => import("./commands/workspace-remove.ts") },
  "token create": { summary: "make a token for a principal", load: () => import("./commands/token-create.ts") },
  "token list": { summary: "tokens and their scopes", load: () => import("./commands/token-list.ts") },
  "token revoke": { summary: "make a token useless at once", load: () => import("./commands/token-revoke.ts") },
  "config get": { summary: "settings in force and where they come from", load: () => import("./commands/config-get.ts") },
  "config set": { summary: "change a setting of the host", load: () => import("./commands/config-set.ts") },
  demo: { summary: "watch two agents share a file, with real requests", load: () => import("./commands/demo.ts") },
  mcp: { summary: "speak MCP on standard input and output", load: () => import("./commands/mcp.ts") },
  completion: { summary: "print a shell's completion script", load: () => import("./commands/completion.ts") },
  version: { summary: "print the version", load: () => import("./commands/version.ts") },
  help: { summary: "this, or help for one command", load: () => import("./commands/help.ts") },
};
