import { createHash } from "node:crypto";
import type { SaveCommit, Store } from "../../../src/daemon/store/index.ts";
import { file, request, sha } from "../../unit/store/line.ts";

/** Bytes that a name stands for. */
export function contentOf(name: string, length: number): Buffer {
  return Buffer.alloc(length, createHash("sha256").update(name).digest());
}

/** The large content of a batch: one for the side store. */
export function largeOf(number: number): Buffer {
  return contentOf(`large ${number}`, 1_100_000);
}

/** The n-th batch of workspace 1, which stands at generation 2(n - 1): two saves that belong together. */
export function batch(store: Store, number: number, large = largeOf(number)): SaveCommit[] {
  const row = store.read.workspace(1);
  if (row === undefined) throw new Error("no workspace");
  const saves: SaveCommit[] = [];
  let tree = row.tree;
  let head = row.head;
  const pending = new Map<string, Uint8Array>();
  for (const [index, contents] of [
    { [`big-${number}`]: large, [`a-${number}`]: Buffer.from(`a ${number}`) },
    { [`b-${number}`]: Buffer.from(`b ${number}`) },
  ].entries()) {
    const paths = Object.entries(contents).map(([path, bytes]) => ({ path, before: null, after: file(bytes) }));
    const { root, nodes } = store.trees.change(tree, paths, pending);
    for (const { hash, data } of nodes) pending.set(hash, data);
    const generation = row.generation + index;
    const id = `ck_${generation + 1}`;
    saves.push({
      workspace: 1,
      generation,
      epoch: row.epoch,
      objects: Object.values(contents).map((bytes) => ({ sha256: sha(bytes), bytes })),
      nodes,
      journal: paths.map((change) => ({ ...change, mode: 0o644 })),
      request: request(`r-${generation + 1}`),
      checkpoints: [
        {
          id,
          workspace: 1,
          parents: head === "" ? [] : [head],
          generation: generation + 1,
          cause: "save",
          principal: "alice",
          requestId: `r-${generation + 1}`,
          message: "",
          timeMs: 1,
          tree: root,
          paths,
        },
      ],
    });
    tree = root;
    head = id;
  }
  return saves;
}
