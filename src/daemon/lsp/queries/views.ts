import { createHmac } from "node:crypto";
import { GinError } from "../../base/index.ts";
import type { ServerSpec } from "../table/types.ts";

/** Ids kept for each workspace; the ones named longest ago go first. */
const MOST_IDS = 20_000;

/** A file outside of a workspace that an answer named. */
export interface Viewed {
  /** Absolute. */
  readonly file: string;
  /** For people: "typescript/lib/lib.es5.d.ts". */
  readonly name: string;
  /** Of the server that named it. */
  readonly spec: ServerSpec;
}

/** Ids by which callers read files outside that answers named, and no others. */
export interface Views {
  /** The id of a file for a workspace: the same one while this daemon lives. It tells nothing of where the file is. */
  mint(workspace: number, viewed: Viewed): string;
  /** Throws ID_NOT_FOUND for one that no answer of this workspace held, of another daemon, or named too long ago. */
  viewed(workspace: number, id: string): Viewed;
  /** Forgets those of a workspace. */
  forget(workspace: number): void;
}

/** `key` is at least 16 random bytes, of this daemon's life only. */
export function createViews(key: Uint8Array, most = MOST_IDS): Views {
  const known = new Map<number, Map<string, Viewed>>();
  return {
    mint(workspace, viewed) {
      const mac = createHmac("sha256", key).update(`${workspace}\0${viewed.file}`).digest("base64url");
      const id = `lv_${mac.slice(0, 22)}`;
      const ids = known.get(workspace) ?? new Map<string, Viewed>();
      known.set(workspace, ids);
      // Deleted first: what was named last stands last.
      ids.delete(id);
      ids.set(id, viewed);
      for (const oldest of ids.keys()) {
        if (ids.size <= most) break;
        ids.delete(oldest);
      }
      return id;
    },
    viewed(workspace, id) {
      const viewed = known.get(workspace)?.get(id);
      if (viewed === undefined) {
        throw new GinError("ID_NOT_FOUND", "no answer about this workspace holds that view", "ask for the location again", {
          facts: { id },
        });
      }
      return viewed;
    },
    forget: (workspace) => void known.delete(workspace),
  };
}
