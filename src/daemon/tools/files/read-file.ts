import { GinError } from "../../base/index.ts";
import { flagArg, textArg } from "../args.ts";
import type { JsonMap, Tool, ToolResult } from "../types.ts";
import { loadFile } from "./load.ts";
import { binaryFile, continued, placeOf, readText, WINDOW_SCHEMA } from "./read-text.ts";
import { imageType, isBinary, isPdf } from "./sniff.ts";

/** Largest image that is answered: larger ones no model takes. */
const IMAGE_BYTES = 10 * 1024 * 1024;

const PDF_THEN = "convert the PDF to text first (pdftotext, or recognition of a scan) and read the text file";

/** read_file: a file, or a window of its lines. */
export const readFile: Tool = {
  name: "read_file",
  description:
    "Read one text file, or a window of its lines, numbered. At most 2,000 lines and 50 KiB a call; next_call goes on exactly where it ended, within one long line too. Images come as image blocks.",
  features: ["line_numbers", "windowing", "tail", "truncation", "checksum", "images", "cursor"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: {
      ...WINDOW_SCHEMA,
      include_checksum: { type: "boolean", default: false, description: "Give the file's SHA-256 in meta.sha256" },
      if_checksum: { type: "string", description: "Leave the text out when the file still has this SHA-256" },
      cursor: { type: "string", description: "Goes on where an earlier call ended; from its next_call, which has the rest too" },
    },
    required: ["path"],
    additionalProperties: false,
  },
  intents: [{ points: 7, any: ["read", "open", "show", "cat", "view", "display", "print"], also: [["file", "content", "line"]] }],
  async run(args, context): Promise<ToolResult> {
    const place = placeOf(args, context);
    const file = place === undefined ? await loadFile(context, textArg(args, "path")) : await continued(args, place, context);
    const known = textArg(args, "if_checksum").toLowerCase();
    const sum: JsonMap = flagArg(args, "include_checksum") || known !== "" ? { sha256: file.sha256 } : {};
    if (known === file.sha256 && place === undefined) {
      return { result: JSON.stringify({ unchanged: true, path: file.path, checksum: file.sha256 }), meta: sum };
    }
    if (isPdf(file.path, file.bytes)) throw binaryFile(file.path, "a PDF", PDF_THEN);
    const mimeType = imageType(file.path, file.bytes);
    if (mimeType !== undefined) {
      if (file.bytes.length > IMAGE_BYTES) {
        throw new GinError(
          "TOO_LARGE",
          `${file.path} is an image of ${file.bytes.length} bytes; the limit is ${IMAGE_BYTES}`,
          "make a smaller one",
          {
            facts: { limit: IMAGE_BYTES, unit: "bytes" },
          },
        );
      }
      return { content: [{ type: "image", data: file.bytes, mimeType }], meta: sum };
    }
    if (isBinary(file.bytes)) {
      const note = `[binary file: ${file.bytes.length} bytes; stat_file tells what it is]`;
      return { result: note, meta: { ...sum, binary: true } };
    }
    const { text, truncation, nextCall, encoding, bom, hint } = await readText(args, file, place, context);
    const meta: JsonMap = {
      ...sum,
      ...(encoding === undefined ? {} : { encoding }),
      ...(bom === undefined ? {} : { bom }),
      ...(truncation === undefined ? {} : { truncation }),
      ...(truncation?.next_call === undefined ? {} : { next_call: truncation.next_call }),
    };
    // Text without numbers is the file's own, to be put together again: nothing is added to it.
    const result = hint === "" || !flagArg(args, "line_numbers", true) ? text : `${text}\n${hint}`;
    return { result, ...(Object.keys(meta).length === 0 ? {} : { meta }), ...(nextCall === undefined ? {} : { nextCall }) };
  },
};
