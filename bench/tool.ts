// The agent tools as an agent's shell waits for them: read_file, edit_file and search_files through the API on a connection that stays, and as a whole
// `gin tool` process with the daemon up, against starting Node and, where GIN_REFERENCE names it, against the reference's process a call.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainEnv, repo, scratch, startDaemon } from "./support/daemon.ts";
import { type Case, sideBySide } from "./support/measure.ts";
import { atMost, type Ratio, report, shown } from "./support/report.ts";

const RUNS = 40;
const FILES = 200;
const text = "export const some = (value: number): number => value + 1;\n".repeat(70);

/** The same tree for each side: a file to read and edit, and some to search. */
function plant(root: string): void {
  mkdirSync(join(root, "src"), { recursive: true });
  for (let file = 0; file < FILES; file++) writeFileSync(join(root, "src", `f${file}.ts`), `// file ${file}\n${text}`);
  writeFileSync(join(root, "edited.ts"), `let count = 0;\n${text}`);
}

const daemon = await startDaemon();
plant(daemon.root);
const gin = await daemon.client();

const READ = { tool: "read_file", args: { path: "src/f7.ts" } };
const SEARCH = { tool: "search_files", args: { pattern: "file 1[0-9]+$", format: "json" } };

/** The edit of a run: of what the run before it made, so that each changes something. */
function edit(root: string, run: number): { tool: string; args: { [name: string]: string } } {
  const sha256 = createHash("sha256")
    .update(readFileSync(join(root, "edited.ts")))
    .digest("hex");
  const [from, to] = [`count = ${run};`, `count = ${run + 1};`];
  return { tool: "edit_file", args: { path: "edited.ts", old_text: from, new_text: to, if_checksum: sha256 } };
}

/** Edits made so far, on each side's tree. */
const edits = { gin: 0, reference: 0 };

interface Request {
  readonly tool: string;
  readonly args: { readonly [name: string]: string };
}

const overApi = async ({ tool, args }: Request): Promise<void> => {
  const answer = await gin.callTool({ tool, arguments: args });
  if (!answer.ok) throw new Error(`${tool}: ${answer.error}`);
};

/** One process with the request on standard input. */
function whole(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv, request: Request): void {
  const [file = "", ...args] = command;
  const { status, stdout } = spawnSync(file, args, { cwd, env, input: JSON.stringify(request), encoding: "utf8" });
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}: ${stdout}`);
}

const { execPath: node } = process;
const ginEnv = { ...plainEnv, GIN_HOST: daemon.host };
const ginTool = (request: Request): void => whole([node, join(repo, "bin", "gin"), "tool"], daemon.root, ginEnv, request);

const cases: { [name: string]: Case } = {
  api_read: () => overApi(READ),
  api_edit: () => overApi(edit(daemon.root, edits.gin++)),
  api_search: () => overApi(SEARCH),
  gin_read: () => ginTool(READ),
  gin_edit: () => ginTool(edit(daemon.root, edits.gin++)),
  gin_search: () => ginTool(SEARCH),
  node: () => whole([node, "-e", "0"], daemon.root, plainEnv, READ),
};

const { GIN_REFERENCE: reference } = process.env;
if (reference !== undefined) {
  const root = scratch("reference");
  plant(root);
  const env = { PATH: process.env.PATH, HOME: root, JINN_CONFIG_DIR: scratch("config") };
  const call = (request: Request): void => whole([reference], root, env, request);
  Object.assign(cases, {
    reference_read: () => call(READ),
    reference_edit: () => call(edit(root, edits.reference++)),
    reference_search: () => call(SEARCH),
  });
}

// Round by round one of each, so that whatever the machine does meanwhile hits all alike.
const times = await sideBySide(cases, { runs: RUNS, warm: 3, rounds: RUNS });
const p50 = (name: string): number => times[name]?.p50 ?? Number.NaN;

const ratios: { [name: string]: Ratio } = {};
for (const tool of ["read", "edit", "search"]) {
  ratios[`gin tool ${tool} to node -e 0`] =
    tool === "read" ? atMost(p50(`gin_${tool}`) / p50("node"), 2.2) : shown(p50(`gin_${tool}`) / p50("node"));
  if (reference === undefined) continue;
  ratios[`api ${tool} to the reference`] = shown(p50(`api_${tool}`) / p50(`reference_${tool}`));
  ratios[`gin tool ${tool} to the reference`] = shown(p50(`gin_${tool}`) / p50(`reference_${tool}`));
}
report("tool", ratios, Object.fromEntries(Object.keys(cases).map((name) => [`${name}_p50_ms`, p50(name)])), RUNS);
if (reference === undefined) console.error("GIN_REFERENCE names no program of the reference: it was left out");
await daemon.stop();
process.exit(0);
