import { createHash } from "node:crypto";
import type { EditInput } from "../../../src/daemon/workspace/index.ts";
import type { Chance } from "../../helpers/random.ts";

/** A file of the model: its bytes and executable bit. */
export interface ModelFile {
  readonly bytes: Buffer;
  readonly executable: boolean;
}

/** What the paths of a workspace should hold. */
export type Model = Map<string, ModelFile>;

const DIRECTORIES = ["", "d0/", "d1/", "d1/deep/er/"];

/** SHA-256 as hex. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Random bytes that never repeat; one in twenty is larger than what the store keeps in its table. */
export function someBytes(chance: Chance, label: string): Buffer {
  const size = chance.maybe(0.05) ? 1024 * 1024 + 10 + chance.int(5000) : chance.int(9000);
  return Buffer.concat([Buffer.from(`${label}\n`), Buffer.alloc(size, chance.bytes(97))]);
}

/** A random save that is right for the model: writes, creations, removals, renames, swaps and mode changes. */
export function someEdits(chance: Chance, model: Model, label: string, avoid: ReadonlySet<string> = new Set()): EditInput[] {
  const edits: EditInput[] = [];
  const used = new Set(avoid);
  const present = (): string[] => [...model.keys()].filter((path) => !used.has(path));
  const fresh = (): string | undefined => {
    const path = `${chance.pick(DIRECTORIES)}f${chance.int(12)}`;
    return used.has(path) || model.has(path) ? undefined : path;
  };
  const count = 1 + chance.int(4);
  for (let index = 0; index < count; index++) {
    const what = chance.int(10);
    const paths = present();
    if (paths.length === 0 || what < 2) {
      const path = fresh();
      if (path === undefined) continue;
      used.add(path);
      edits.push({ path, expect: "absent", content: someBytes(chance, `${label}.${index}`), executable: chance.maybe(0.2) });
      continue;
    }
    const path = chance.pick(paths);
    const file = model.get(path) as ModelFile;
    const expect = hashOf(file.bytes);
    used.add(path);
    if (what < 6) edits.push({ path, expect, content: someBytes(chance, `${label}.${index}`) });
    else if (what === 6) edits.push({ path, expect, delete: true });
    else if (what === 7) edits.push({ path, expect, executable: !file.executable });
    else if (what === 8) {
      const to = fresh();
      if (to === undefined) continue;
      used.add(to);
      edits.push({ path, expect, renameTo: to });
    } else {
      const other = present()[0];
      if (other === undefined) continue;
      used.add(other);
      edits.push({ path, expect, renameTo: other });
      edits.push({ path: other, expect: hashOf((model.get(other) as ModelFile).bytes), renameTo: path });
    }
  }
  return edits;
}

/** The paths edits speak of. */
export function pathsOf(edits: readonly EditInput[]): string[] {
  return edits.flatMap((edit) => (edit.renameTo === undefined ? [edit.path] : [edit.path, edit.renameTo]));
}

/** Does to the model what the edits do. */
export function applyTo(model: Model, edits: readonly EditInput[]): void {
  const before = new Map(model);
  for (const edit of edits) if (edit.delete === true || edit.renameTo !== undefined) model.delete(edit.path);
  for (const edit of edits) {
    if (edit.delete === true) continue;
    const old = before.get(edit.path);
    const bytes = edit.content === undefined ? (old as ModelFile).bytes : Buffer.from(edit.content);
    model.set(edit.renameTo ?? edit.path, { bytes, executable: edit.executable ?? old?.executable ?? false });
  }
}
