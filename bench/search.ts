// Searching 20 k files through CallTool, warm, against `rg` run by hand on the same files: the same matches, and how long each takes.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainEnv, scratch, startDaemon } from "./support/daemon.ts";
import { sideBySide } from "./support/measure.ts";
import { atMost, type Ratio, report, shown } from "./support/report.ts";

const FILES = 20_000;
const RUNS = 8;
const WORDS =
  "function return const let value handler request response error token parse build index buffer stream client server config option result number string object array promise await async import export class extends".split(
    " ",
  );

/** What is looked for: rare and common texts, expressions with and without a text in them, both cases. */
const CASES: readonly {
  readonly name: string;
  readonly pattern: string;
  readonly args: object;
  readonly rg: readonly string[];
}[] = [
  { name: "literal, rare", pattern: "handler777 parse", args: { literal: true }, rg: ["-F"] },
  { name: "literal, common", pattern: "handler7", args: { literal: true }, rg: ["-F"] },
  { name: "literal, either case", pattern: "HANDLER77", args: { literal: true, case_insensitive: true }, rg: ["-F", "-i"] },
  { name: "regex with a text", pattern: "handler\\d+ (parse|build)\\d", args: {}, rg: [] },
  { name: "regex of classes", pattern: "\\w+er7\\d7 ", args: {}, rg: [] },
  { name: "regex, whole line", pattern: "^async .*server\\d{3}$", args: {}, rg: [] },
];

/** The same files every time, shaped like code. */
function plant(root: string): void {
  let state = 1;
  const dice = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
  for (let file = 0; file < FILES; file += 1) {
    const directory = join(root, `d${file % 20}`, `e${Math.floor(file / 50)}`);
    mkdirSync(directory, { recursive: true });
    const lines = Array.from({ length: 20 + dice(100) }, () =>
      Array.from({ length: 2 + dice(7) }, () => WORDS[dice(WORDS.length)] + (dice(5) === 0 ? String(dice(1_000)) : "")).join(" "),
    );
    writeFileSync(join(directory, `f${file}.ts`), `${lines.join("\n")}\n`);
  }
}

/** A ripgrep to compare with; undefined when there is none. */
function ripgrep(): string | undefined {
  const rg = process.env.GIN_BENCH_RG ?? "rg";
  try {
    execFileSync(rg, ["--version"], { stdio: "ignore" });
    return rg;
  } catch {
    return undefined;
  }
}

const root = join(scratch("root"), "ws");
plant(root);
const daemon = await startDaemon(root);
const sdk = await daemon.client();

interface Answer {
  readonly results: readonly { readonly file: string; readonly line: number; readonly text: string }[];
  readonly total_count: number;
  readonly next_call?: { readonly arguments: object };
}

const ask = async (args: object): Promise<Answer> => {
  const answer = await sdk.callTool({ tool: "search_files", arguments: args as never });
  if (!answer.ok) throw new Error(`${answer.errorCode}: ${answer.error}`);
  return JSON.parse(answer.result) as Answer;
};

/** Every match, page by page. */
const all = async (args: object): Promise<string[]> => {
  const found: string[] = [];
  let next: object | undefined = { format: "json", ...args };
  while (next !== undefined) {
    const page: Answer = await ask(next);
    found.push(...page.results.map(({ file, line, text }) => `${file}:${line}:${text}`));
    next = page.next_call?.arguments;
  }
  return found;
};

const rgRun = (rg: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(rg, ["-n", "--no-heading", ...args, "."], {
      cwd: root,
      env: plainEnv,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.once("error", reject);
    child.once("close", () => resolve(Buffer.concat(pieces).toString()));
  });

// The import first: a search is refused until the whole tree is recorded.
for (;;) {
  const answer = await sdk.callTool({ tool: "search_files", arguments: { pattern: "x" } as never });
  if (answer.ok) break;
  if (answer.errorCode !== "not_ready") throw new Error(answer.error);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
const coldFrom = performance.now();
await ask({ pattern: "handler777 parse", literal: true, format: "json" });
const coldMs = performance.now() - coldFrom;

const rg = ripgrep();
if (rg === undefined) console.log("skipped: no rg on this machine to compare with (GIN_BENCH_RG names one)");
const ratios: Record<string, Ratio> = {};
const absolute: Record<string, number> = { first_after_import_ms: coldMs };
for (const { name, pattern, args, rg: flags } of CASES) {
  const query = { pattern, format: "json", ...args };
  const key = name.replaceAll(/[^a-z]+/g, "_");
  if (rg !== undefined) {
    const theirs = (await rgRun(rg, [...flags, "-e", pattern])).split("\n").filter((line) => line !== "");
    const ours = await all({ pattern, max_matches: 5_000, ...args });
    const sorted = theirs.map((line) => line.replace(/^\.\//, "")).sort();
    if (JSON.stringify([...ours].sort()) !== JSON.stringify(sorted)) throw new Error(`${name}: not the same matches`);
    absolute[`${key}_matches`] = ours.length;
  }
  // A later page reads the state of the first one: what searching itself takes, without the look at the disk before it.
  const page = await ask({ ...query, max_matches: 1 });
  const later = { ...page.next_call?.arguments, offset: 0, max_matches: 500 };
  const times = await sideBySide(
    {
      gin: () => ask(query),
      page: () => (page.next_call === undefined ? undefined : ask(later)),
      rg: () => (rg === undefined ? undefined : rgRun(rg, [...flags, "-e", pattern])),
    },
    { runs: RUNS, warm: 1, rounds: 4 },
  );
  absolute[`${key}_ms`] = times.gin.p50;
  absolute[`${key}_later_page_ms`] = times.page.p50;
  if (rg === undefined) continue;
  absolute[`${key}_rg_ms`] = times.rg.p50;
  ratios[`${name}: search_files to rg`] = atMost(times.gin.p50 / times.rg.p50, 1.2);
  ratios[`${name}: a later page to rg`] = shown(times.page.p50 / times.rg.p50);
}
// Small reads, alone and beside searches of a recorded state: what searching holds up, and what the machine does by itself.
const slowestRead = async (until: Promise<unknown>): Promise<number> => {
  let slowest = 0;
  let ended = false;
  void until.finally(() => (ended = true));
  while (!ended) {
    const from = performance.now();
    await sdk.readPath({ path: "d0/e0/f0.ts", limit: 64 });
    slowest = Math.max(slowest, performance.now() - from);
  }
  return slowest;
};
const classes = { pattern: "\\w+er7\\d7 ", format: "json" };
const { next_call: recorded } = await ask({ ...classes, max_matches: 1 });
const searches = async (): Promise<void> => {
  for (let run = 0; run < 10; run += 1) await ask({ ...recorded?.arguments, offset: 0, max_matches: 500 });
};
const alone = await slowestRead(new Promise((resolve) => setTimeout(resolve, 3_000)));
const beside = await slowestRead(searches());
absolute.slowest_read_alone_ms = alone;
absolute.slowest_read_beside_ms = beside;
ratios["slowest read beside searches to alone"] = shown(beside / alone);
report("search", ratios, absolute, RUNS);
await daemon.stop();
process.exit(0);
