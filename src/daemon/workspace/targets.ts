import { type Clock, GinError } from "../base/index.ts";
import type { Hash } from "../store/index.ts";
import type { ConfinedRoot } from "./files/index.ts";
import { inSlices } from "./slice.ts";
import type { EditInput, SaveInput } from "./types.ts";

/** What one canonical path is to become, gathered from the edits that speak of it. */
export interface Slot {
  readonly path: string;
  /** Spelling the caller used, for messages about the request. */
  readonly asked: string;
  /** The edit whose `path` this is; undefined for a rename target nobody else edits. */
  edit: EditInput | undefined;
  /** The rename that ends here. */
  arrival: { readonly from: string; readonly edit: EditInput } | undefined;
}

/** Expectation of a slot: a hash, absent, or what is recorded at the generation given. */
export type Expectation = Hash | "absent" | "recorded";

/**
 * Walks every path of a save to its canonical form, asks `authorise` for the spelling and the target, and puts edits
 * together by canonical path. Throws INVALID_REQUEST for two edits of one path, and whatever the walk throws.
 */
export async function gather(root: ConfinedRoot, clock: Clock, input: SaveInput): Promise<Map<string, Slot>> {
  const slots = new Map<string, Slot>();
  await inSlices(root, clock, input.edits, (edit) => {
    const onItself = edit.delete === true || edit.renameTo !== undefined || edit.link !== undefined;
    const action = edit.delete === true || edit.renameTo !== undefined ? "delete" : "save";
    const path = walk(root, edit.path, !onItself, input, action);
    const slot = slotAt(slots, path, edit.path);
    if (slot.edit !== undefined) throw twice(edit.path);
    slot.edit = edit;
    if (edit.renameTo === undefined) return;
    const to = walk(root, edit.renameTo, false, input, "save");
    if (to === path)
      throw new GinError("INVALID_REQUEST", `${edit.path} cannot be renamed to itself`, undefined, {
        facts: { field: "rename_to" },
      });
    const target = slotAt(slots, to, edit.renameTo);
    if (target.arrival !== undefined) throw twice(edit.renameTo);
    target.arrival = { from: path, edit };
  });
  for (const slot of slots.values()) checkArrival(slot);
  checkTwins(root, slots);
  checkNesting(slots);
  return slots;
}

function walk(root: ConfinedRoot, asked: string, follow: boolean, input: SaveInput, action: "save" | "delete"): string {
  const { path } = root.locate(asked, follow);
  if (path === "")
    throw new GinError("NOT_A_FILE", "the workspace's root is a directory", undefined, {
      facts: { path: asked, kind: "directory" },
    });
  if (path !== asked) input.authorise(asked, action);
  input.authorise(path, action);
  return path;
}

function slotAt(slots: Map<string, Slot>, path: string, asked: string): Slot {
  const known = slots.get(path);
  if (known !== undefined) return known;
  const slot: Slot = { path, asked, edit: undefined, arrival: undefined };
  slots.set(path, slot);
  return slot;
}

function twice(asked: string): GinError {
  return new GinError("INVALID_REQUEST", `${asked} is edited twice in one save`, "give one edit for each path", {
    facts: { field: "edits", path: asked },
  });
}

/** A path that a rename ends at may only be vacated (renamed away or deleted) by an edit of its own. */
function checkArrival(slot: Slot): void {
  if (slot.arrival === undefined || slot.edit === undefined) return;
  if (slot.edit.delete === true || slot.edit.renameTo !== undefined) return;
  throw twice(slot.asked);
}

/** Two new names that this file system takes for one would displace each other. */
function checkTwins(root: ConfinedRoot, slots: ReadonlyMap<string, Slot>): void {
  const keys = new Map<string, string>();
  for (const path of slots.keys()) {
    const key = root.twinKey(path);
    const twin = keys.get(key);
    if (twin !== undefined) {
      throw new GinError("PATH_INVALID", `${path} and ${twin} are one name on this file system`, "use one spelling", {
        facts: { path, twin },
      });
    }
    keys.set(key, path);
  }
}

/** One save cannot leave a file and something below it: the tree cannot hold both. */
function checkNesting(slots: ReadonlyMap<string, Slot>): void {
  for (const slot of slots.values()) {
    if (vacated(slot)) continue;
    for (let cut = slot.path.lastIndexOf("/"); cut > 0; cut = slot.path.lastIndexOf("/", cut - 1)) {
      const above = slots.get(slot.path.slice(0, cut));
      if (above !== undefined) {
        throw new GinError(
          "NOT_A_DIRECTORY",
          `${above.asked} and ${slot.asked} cannot be in one save`,
          "remove the file in a save of its own first",
          {
            facts: { path: slot.path, kind: "file" },
          },
        );
      }
    }
  }
}

/** Whether the slot ends up absent. */
export function vacated(slot: Slot): boolean {
  return slot.arrival === undefined && (slot.edit?.delete === true || slot.edit?.renameTo !== undefined);
}

/** What the caller says is at the slot now. */
export function expectation(slot: Slot, input: SaveInput): Expectation {
  if (slot.edit === undefined) return "absent";
  if (slot.edit.expect !== undefined) return slot.edit.expect;
  if (input.generation !== undefined) return "recorded";
  throw new GinError(
    "INVALID_REQUEST",
    `${slot.asked} comes without expect`,
    "give the sha256 you read, or absent; or give generation",
    {
      facts: { field: "expect", path: slot.asked },
    },
  );
}
