import { GinError, Pace } from "../../base/index.ts";
import { numberArg, textArg } from "../args.ts";
import type { ReadContext, Tool, ToolResult } from "../types.ts";
import { type LoadedFile, loadFile } from "./load.ts";
import { binaryFile } from "./read-text.ts";
import { type Encoding, encodingOf } from "./sniff.ts";
import { TextLines } from "./text-lines.ts";

/** Largest side. */
const SIDE_BYTES = 10 * 1024 * 1024;
/** Lines of both sides together. */
const LINES = 100_000;
/** Bytes of a diff that are answered. */
const DIFF_BYTES = 1024 * 1024;

/** diff_files: how two files differ. */
export const diffFiles: Tool = {
  name: "diff_files",
  description:
    "Compare two text files: a unified diff from path_a to path_b. A missing newline at the end of a file is a difference.",
  features: ["unified_diff", "comparison"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      path_a: { type: "string", minLength: 1, description: "First file" },
      path_b: { type: "string", minLength: 1, description: "Second file" },
      context_lines: {
        type: "integer",
        minimum: 0,
        maximum: 1_000,
        default: 3,
        description: "Unchanged lines around each change",
      },
    },
    required: ["path_a", "path_b"],
    additionalProperties: false,
  },
  intents: [{ points: 9, any: ["diff", "compare", "difference", "differ", "versus", "vs", "changed"] }],
  async run(args, context): Promise<ToolResult> {
    const a = await loadFile(context, textArg(args, "path_a"), SIDE_BYTES);
    const b = await loadFile(context, textArg(args, "path_b"), SIDE_BYTES);
    if (a.sha256 === b.sha256) return { result: "files are identical", meta: { is_identical: true, first_changed_line: 0 } };
    const encodings = [a, b].map((side) => textEncoding(side));
    await refuseLong(a, b, context);
    const hunks = await context.differ.hunks(a.bytes, b.bytes, numberArg(args, "context_lines", 3), context.signal);
    if (hunks.body.length > DIFF_BYTES) throw limited(`the diff has ${hunks.body.length} bytes`, DIFF_BYTES, "bytes");
    const head = `--- ${a.path}\n+++ ${b.path}\n`;
    return {
      result: `${head}${Buffer.from(hunks.body.buffer, hunks.body.byteOffset, hunks.body.byteLength).toString("utf8")}`,
      meta: {
        is_identical: false,
        first_changed_line: firstChange(a.bytes, b.bytes),
        added: hunks.added,
        removed: hunks.removed,
        // Shown with U+FFFD where it cannot be decoded: said, since two lines may then look the same and differ.
        ...(encodings.includes("8-bit") ? { encoding: "8-bit" } : {}),
      },
    };
  },
};

function textEncoding({ path, bytes }: LoadedFile): Encoding {
  const encoding = encodingOf(bytes, true);
  if (encoding === "utf-8" || encoding === "8-bit") return encoding;
  throw binaryFile(path, encoding === "binary" ? "no text" : `${encoding}, which is not compared by lines`);
}

async function refuseLong(a: LoadedFile, b: LoadedFile, { clock, signal }: ReadContext): Promise<void> {
  const pace = new Pace(clock, signal);
  const lines = (await TextLines.of(a.bytes, pace)).count + (await TextLines.of(b.bytes, pace)).count;
  if (lines > LINES) throw limited(`the files together have ${lines} lines`, LINES, "lines");
}

function limited(what: string, limit: number, unit: string): GinError {
  return new GinError("RESOURCE_LIMIT", `${what}; the limit is ${limit}`, "compare smaller parts", { facts: { limit, unit } });
}

/** The first line that is not the same in both, from 1. Both differ somewhere. */
function firstChange(a: Buffer, b: Buffer): number {
  const shorter = Math.min(a.length, b.length);
  let at = 0;
  while (at < shorter && a[at] === b[at]) at += 1;
  let line = 1;
  for (let end = a.indexOf(10); end !== -1 && end < at; end = a.indexOf(10, end + 1)) line += 1;
  return line;
}
