import { GinError, Pace } from "../../base/index.ts";
import type { FileStat } from "../../workspace/index.ts";
import { textArg } from "../args.ts";
import type { JsonMap, ReadContext, Tool, ToolResult } from "../types.ts";
import { FILE_BYTES, type LoadedFile, loadFile } from "./load.ts";
import { toolPath } from "./path.ts";
import { bomOf, encodingOf } from "./sniff.ts";
import { TextLines } from "./text-lines.ts";

/** Bytes looked at of a file that is too large to be read whole. */
const SAMPLE_BYTES = 8_192;

const LF = 10;
const CR = 13;

/** stat_file: what a path is, without its content. */
export const statFile: Tool = {
  name: "stat_file",
  description:
    "What a path is: kind, size, time, lines, encoding, line ending, byte order mark, SHA-256. Gives none of its content.",
  features: ["metadata", "encoding", "line_ending", "checksum"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: { path: { type: "string", minLength: 1, description: "Path in the workspace, with /" } },
    required: ["path"],
    additionalProperties: false,
  },
  intents: [
    {
      points: 8,
      any: ["stat", "size", "metadata", "encoding", "info", "checksum", "hash", "mtime", "modified", "big", "large", "exist"],
    },
  ],
  async run(args, context): Promise<ToolResult> {
    const path = toolPath(textArg(args, "path"));
    const { authorise, workspace } = context;
    const { stat, sample, path: canonical } = await workspace.facts(path, { authorise, sampleBytes: SAMPLE_BYTES });
    const shown = canonical === "" ? "." : canonical;
    const facts: JsonMap = {
      path: shown,
      type: stat.kind === "symlink" ? "special" : stat.kind,
      size: stat.size,
      modified: rfc3339(stat.mtimeNs),
    };
    const text = stat.kind === "file" ? await textFacts(context, path, stat, sample) : {};
    return { result: JSON.stringify({ ...facts, ...text, summary: summary(shown, stat, text) }) };
  },
};

async function textFacts(context: ReadContext, path: string, stat: FileStat, sample: Uint8Array): Promise<JsonMap> {
  const file = await wholeFile(context, path, stat);
  const bytes = file?.bytes ?? Buffer.from(sample.buffer, sample.byteOffset, sample.byteLength);
  const whole = file !== undefined;
  const encoding = encodingOf(bytes, whole);
  const lines = await TextLines.of(bytes, new Pace(context.clock, context.signal));
  return {
    encoding,
    line_ending: encoding === "binary" ? "none" : lineEnding(bytes),
    bom: bomOf(bytes),
    sample_bytes: bytes.length,
    sample_complete: whole,
    sample_lines: lines.count,
    ...(file === undefined ? {} : { lines: lines.count, sha256: file.sha256 }),
  };
}

/** The file with its bytes; undefined for one that is too large to be read. */
async function wholeFile(context: ReadContext, path: string, stat: FileStat): Promise<LoadedFile | undefined> {
  if (stat.size > FILE_BYTES) return undefined;
  try {
    return await loadFile(context, path);
  } catch (thrown) {
    // It grew meanwhile.
    if (thrown instanceof GinError && thrown.reason === "TOO_LARGE") return undefined;
    throw thrown;
  }
}

/** How lines end: "none" where there is no line end at all. */
function lineEnding(bytes: Buffer): "lf" | "crlf" | "cr" | "mixed" | "none" {
  const kinds = new Set<"lf" | "crlf" | "cr">();
  for (let at = bytes.indexOf(CR); at !== -1 && kinds.size < 2; at = bytes.indexOf(CR, at + 1)) {
    kinds.add(bytes[at + 1] === LF ? "crlf" : "cr");
  }
  for (let at = bytes.indexOf(LF); at !== -1 && kinds.size < 2; at = bytes.indexOf(LF, at + 1)) {
    if (at === 0 || bytes[at - 1] !== CR) kinds.add("lf");
  }
  const [only] = kinds;
  return kinds.size > 1 ? "mixed" : (only ?? "none");
}

/** Nanoseconds of the epoch as RFC 3339, without zeros at the end of the fraction. */
function rfc3339(ns: bigint): string {
  const billion = 1_000_000_000n;
  const rest = ((ns % billion) + billion) % billion;
  const seconds = new Date(Number((ns - rest) / billion) * 1000).toISOString().slice(0, 19);
  const fraction = rest === 0n ? "" : `.${String(rest).padStart(9, "0").replace(/0+$/, "")}`;
  return `${seconds}${fraction}Z`;
}

function summary(path: string, stat: FileStat, text: JsonMap): string {
  const parts = [stat.kind, `${stat.size} bytes`];
  if (text.lines !== undefined) parts.push(`${String(text.lines)} lines`);
  if (text.encoding !== undefined) parts.push(String(text.encoding), `line ending ${String(text.line_ending)}`);
  return `${path}: ${parts.join(", ")}`;
}
