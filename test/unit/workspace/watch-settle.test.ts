import { expect, test } from "vitest";
import { Settler } from "../../../src/daemon/workspace/watch/settler.ts";
import { chance } from "../../helpers/random.ts";
import { virtualClock } from "../lease/virtual-clock.ts";

/** A settler on a clock that stands still, and what came out of it with the time it came. */
function settling() {
  const clock = virtualClock();
  const out: { at: number; paths?: readonly string[]; reason?: string }[] = [];
  const settler = new Settler(clock, {
    hint: (paths) => void out.push({ at: clock.monotonicMs(), paths: [...paths].sort() }),
    overflow: (reason) => void out.push({ at: clock.monotonicMs(), reason }),
  });
  return { clock, out, settler };
}

test("a batch comes 200 ms after the last event, each path once", () => {
  const { clock, out, settler } = settling();
  settler.path("a/x");
  clock.advance(150);
  settler.path("a/x");
  settler.path("b");
  clock.advance(199);
  expect(out).toEqual([]);
  clock.advance(1);
  expect(out).toEqual([{ at: 350, paths: ["a/x", "b"] }]);
  expect(clock.timers()).toBe(0);
});

test("events without end are handed out 2 s after the first, again and again", () => {
  const { clock, out, settler } = settling();
  for (let at = 0; at < 5_000; at += 100) {
    settler.path(`f${at}`);
    clock.advance(100);
  }
  expect(out.map(({ at }) => at)).toEqual([2_000, 4_000]);
  clock.advance(1_000);
  expect(out.flatMap(({ paths }) => paths ?? []).length).toBe(50);
});

test("a directory stands for over 256 names, and for what was named in it", () => {
  const { clock, out, settler } = settling();
  for (let index = 0; index < 256; index++) settler.path(`few/${index}`);
  for (let index = 0; index < 10_000; index++) settler.path(`many/${index}`);
  settler.path("d/x");
  settler.directory("d");
  settler.path("d/y");
  settler.path("top");
  settler.path("");
  clock.advance(200);
  const paths = out[0]?.paths ?? [];
  expect(paths.filter((path) => path.startsWith("few/")).length).toBe(256);
  expect(paths.filter((path) => !path.startsWith("few/"))).toEqual(["", "d", "many"]);
});

test("everything swallows the paths of its batch; so do more paths than a batch holds", () => {
  const { clock, out, settler } = settling();
  settler.path("a");
  settler.everything("fault");
  settler.everything("flood");
  settler.path("b");
  clock.advance(200);
  for (let index = 0; index <= 50_000; index++) settler.path(`${index}/x`);
  clock.advance(200);
  settler.path("c");
  clock.advance(200);
  expect(out).toEqual([
    { at: 200, reason: "fault" },
    { at: 400, reason: "flood" },
    { at: 600, paths: ["c"] },
  ]);
});

test("flush hands out at once, stop forgets; neither leaves a timer that speaks", () => {
  const { clock, out, settler } = settling();
  settler.flush();
  settler.path("a");
  settler.flush();
  settler.path("b");
  settler.stop();
  clock.advance(5_000);
  expect(out).toEqual([{ at: 0, paths: ["a"] }]);
});

test("random events: each is covered by a batch within 2 s, and never before it was heard", () => {
  const random = chance("settler");
  for (let round = 0; round < 200; round++) {
    const { clock, out, settler } = settling();
    const heard: { at: number; path: string }[] = [];
    for (let step = 0; step < 60; step++) {
      const path = `${random.pick(["a", "b", "a/b"])}/${random.int(400)}`;
      heard.push({ at: clock.monotonicMs(), path });
      if (random.maybe(0.1)) settler.directory(path);
      else settler.path(path);
      clock.advance(random.int(300));
    }
    clock.advance(3_000);
    for (const { at, path } of heard) {
      const batch = out.find((one) => one.at >= at && one.paths?.includes(path));
      expect(batch, `seed ${random.seed} round ${round}: ${path} at ${at}`).toBeDefined();
      expect((batch?.at ?? 0) - at).toBeLessThanOrEqual(2_000);
    }
  }
});
