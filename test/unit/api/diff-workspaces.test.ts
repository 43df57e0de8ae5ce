import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../../src/daemon/store/index.ts";
import { Story } from "../history/storyline.ts";
import { fastDir, openApi } from "./site.ts";

it("two workspaces of one store with equal trees each show the rename that was saved in them", async () => {
  const directory = fastDir();
  const store = await openStore({ directory: join(directory, "data"), inline: true });
  const text = Array.from({ length: 20 }, (_, line) => `line ${line}\n`).join("");
  const told: { workspace: string; from: string; to: string }[] = [];
  for (const [workspace, renamed] of [
    ["ws_1", "a"],
    ["ws_2", "b"],
  ] as const) {
    const story = await Story.begin(store, workspace);
    const from = await story.tell({ a: text, b: text });
    told.push({ workspace, from, to: await story.tell({ a: null, b: null, c: text }, { renames: { c: renamed } }) });
  }
  await store.close();
  const site = await openApi({ directory });
  const diff = async (query: object) =>
    (await site.call("Diff", query)).body.files.map((file: { status: string; old_path: string; path: string }) => [
      file.status,
      file.old_path || file.path,
    ]);
  const [one, two] = told;
  const first = [
    ["DIFF_STATUS_DELETED", "b"],
    ["DIFF_STATUS_RENAMED", "a"],
  ];
  const second = [
    ["DIFF_STATUS_DELETED", "a"],
    ["DIFF_STATUS_RENAMED", "b"],
  ];
  expect(await diff(one ?? {})).toEqual(first);
  expect(await diff(two ?? {})).toEqual(second);
  expect(await diff(one ?? {})).toEqual(first);
});
