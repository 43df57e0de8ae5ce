import { GinError } from "../../base/index.ts";
import type { Tool } from "../types.ts";

/** stat_file: what a path is, without its content. */
export const statFile: Tool = {
  name: "stat_file",
  description:
    "What a path is: kind, size, lines, encoding, line ending, byte order mark, sha256. Reads no content into the answer.",
  features: ["metadata", "encoding", "checksum"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: { path: { type: "string", minLength: 1, description: "Path in the workspace, with /" } },
    required: ["path"],
    additionalProperties: false,
  },
  intents: [{ points: 8, any: ["stat", "size", "metadata", "encoding", "info"] }],
  async run() {
    throw new GinError("UNSUPPORTED", "being built");
  },
};
