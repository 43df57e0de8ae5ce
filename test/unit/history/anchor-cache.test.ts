import { afterAll, expect, it } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { createAnchors } from "../../../src/daemon/history/index.ts";
import { openStore, type StoreReader } from "../../../src/daemon/store/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { fastDir } from "../api/site.ts";
import { differ, Story } from "./storyline.ts";

afterAll(() => differ.close());

it("the ways of anchors that were followed are kept up to a million runs of lines, the newest of them", async () => {
  const store = await openStore({ directory: `${fastDir()}/data`, inline: true });
  atTeardown(() => store.close());
  const story = await Story.begin(store);
  const lines = 100_000;
  const text = Array.from({ length: lines }, (_, line) => `${line}\n`).join("");
  await story.tell({ f: text });
  await story.tell({ f: `new\n${text}` });
  const begun: number[] = [];
  const touchesAfter: StoreReader["touchesAfter"] = (workspace, path, generation, ...rest) => {
    begun.push(generation);
    return store.read.touchesAfter(workspace, path, generation, ...rest);
  };
  const read: StoreReader = new Proxy(store.read, {
    get: (target, name) => (name === "touchesAfter" ? touchesAfter : Reflect.get(target, name)),
  });
  const anchors = createAnchors({ store: { read }, differ, clock: systemClock });
  const { sha256 } = story.content("f", 1);
  /** Follows all lines but the first so many; gives whether the way there was known. */
  const follow = async (but: number): Promise<boolean> => {
    begun.length = 0;
    const asked = { workspace: story.workspace, path: "f", generation: 1, startLine: 1 + but, endLine: lines, sha256 };
    const place = await anchors.follow(asked, story.generation);
    expect(place).toEqual({ standing: "moved", path: "f", startLine: 2 + but, endLine: lines + 1 });
    return begun[0] === story.generation;
  };
  const ways = (first: number, last: number) => Array.from({ length: last - first }, (_, index) => first + index);
  // A line each is a run of its own: nine ways have room, the tenth drives out the one that was not asked for longest.
  for (const but of ways(0, 9)) expect(await follow(but), String(but)).toBe(false);
  for (const but of ways(0, 9)) expect(await follow(but), String(but)).toBe(true);
  expect(await follow(9)).toBe(false);
  for (const but of ways(1, 10)) expect(await follow(but), String(but)).toBe(true);
  expect(await follow(0)).toBe(false);
});
