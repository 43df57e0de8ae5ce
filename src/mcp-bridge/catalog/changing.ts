import { counter, direct, FENCE, flag, line, shape, text } from "./parts.ts";
import type { Shape, Tool } from "./types.ts";

const EDIT: Shape = {
  type: "object",
  properties: {
    path: text("Path in the workspace, with /"),
    expect: text('sha256 of what you read, or "absent"; may be left out only if generation is given'),
    text: text("The whole new content"),
    data: text("The whole new content in base64, for what is not UTF-8"),
    delete: flag("Delete the file"),
    rename_to: text("New path; content may be given with it"),
    executable: flag("Set or clear the executable bit"),
  },
  required: ["path"],
  additionalProperties: false,
};

/** The one way to change files. */
export const SAVE: Tool = {
  name: "gin_save",
  title: "Save files",
  description:
    "Creates, changes, renames and deletes files, all or nothing. Each edit compares content first: if a file is not what expect says, nothing is written and STALE_CONTENT tells what is there. Answers with the checkpoint and the new sha256 of each path.",
  inputSchema: shape(
    {
      edits: { type: "array", description: "One per path", items: EDIT },
      on_conflict: {
        type: "string",
        enum: ["refuse", "merge"],
        description: "If a file changed since expect: refuse (default) or merge three-way",
      },
      message: text("Why, for the log"),
      dry_run: flag("Judge everything, change nothing"),
      sync: flag("Look for outside changes in the touched directories first"),
      incarnation: text("Refuse unless the workspace is this incarnation"),
      generation: counter("Refuse if anything in the workspace changed since this generation"),
      epoch: counter("Refuse unless this is the epoch"),
      ...FENCE,
    },
    ["edits"],
  ),
  // It can delete, and a repeated save either replays (same id) or is refused (content compared).
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  request: (args) => {
    const { on_conflict: conflict, ...rest } = args;
    return { save: typeof conflict === "string" ? { ...rest, on_conflict: `ON_CONFLICT_${conflict.toUpperCase()}` } : rest };
  },
  shows: "save",
};

const ANCHOR: Shape = {
  type: "object",
  properties: {
    path: text("A file of that checkpoint"),
    start_line: line("First line, from 1; leave both out for the whole file"),
    end_line: line("Last line, inclusive"),
    sha256: text("Content you read; refused if the checkpoint holds another"),
  },
  required: ["path"],
  additionalProperties: false,
};

/** A note that stays with the code. */
export const ANNOTATE: Tool = direct(
  "gin_annotate",
  "write_annotation",
  {
    title: "Write an annotation",
    description:
      "Adds a note for people and agents to a checkpoint, optionally to lines: it follows them as the file changes. Notes are never edited: answer with reply_to, replace your own with corrects. Changes no file.",
    // Nothing is ever taken away; the same note without an id of its own is written twice.
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  },
  shape(
    {
      text: text("The note, at most 64 KiB"),
      checkpoint: text("Default: the head"),
      anchors: { type: "array", description: "Lines it speaks of", items: ANCHOR },
      reply_to: text("Annotation id you answer"),
      corrects: text("Annotation id of your own that this replaces"),
      evidence_id: text("Names evidence kept elsewhere, such as a test run"),
    },
    ["text"],
  ),
);
