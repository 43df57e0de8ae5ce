import { beforeAll, expect, it } from "vitest";
import { isText, splitLines } from "../../../src/daemon/history/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { fastDir } from "../api/site.ts";
import { tellRandom } from "./random-story.ts";
import { bytesOf, replay } from "./slow-model.ts";
import { Story } from "./storyline.ts";

// The full count is 2,000 histories (npm run test:long); npm test takes some of them.
const HISTORIES = scaled(200);

let store: Store;

beforeAll(async () => {
  store = await openStore({ directory: `${fastDir()}/data`, inline: true });
  atTeardown(() => store.close());
});

it(`origin is what a slow replay of history says (${HISTORIES} histories)`, async () => {
  const dice = chance("origin");
  let questions = 0;
  for (let number = 0; number < HISTORIES; number += 1) {
    const story = await Story.begin(store, `ws_o${number}`);
    const told = await tellRandom(story, dice, "f", dice.pick([4, 12, 12, 40]));
    const states = replay(told.entries, undefined, (generation) => generation, false);
    const origins = story.origins();
    const asked = new Set(Array.from({ length: 4 }, () => dice.int(told.entries.length)).concat(told.entries.length - 1));
    for (const at of asked) {
      const entry = told.entries[at];
      const path = told.paths[at];
      if (entry === undefined || path === undefined || entry.content === null) continue;
      const { spans, lineCount, text } = await story.file(path, entry.generation, dice.maybe(0.5) ? origins : story.origins());
      const values = spans.flatMap(({ startLine, endLine, origin }) =>
        Array.from({ length: endLine - startLine + 1 }, () => origin?.generation),
      );
      questions += 1;
      const where = `history ${number}, entry ${at} of ${told.entries.length}, seed ${dice.seed}`;
      expect([text, lineCount], where).toEqual(
        isText(bytesOf(entry.content)) ? [true, splitLines(bytesOf(entry.content)).count] : [false, 0],
      );
      expect(values, where).toEqual(states[at]);
    }
  }
  console.log(`origin: ${HISTORIES} histories, ${questions} questions`);
}, 240_000);

it(`anchors stand where a slow replay of history says (${HISTORIES} histories)`, async () => {
  const dice = chance("anchors");
  const counts: { [standing: string]: number } = {};
  for (let number = 0; number < HISTORIES; number += 1) {
    const story = await Story.begin(store, `ws_a${number}`);
    const told = await tellRandom(story, dice, "f", dice.pick([4, 12, 12, 40]));
    const anchors = story.anchors();
    for (let tries = 0; tries < 6; tries += 1) {
      const at = dice.int(told.entries.length);
      const entry = told.entries[at];
      const path = told.paths[at];
      if (entry === undefined || path === undefined || entry.content === null || !isText(bytesOf(entry.content))) continue;
      const { count } = splitLines(bytesOf(entry.content));
      if (count === 0) continue;
      const startLine = 1 + dice.int(count);
      const endLine = startLine + dice.int(Math.min(4, count - startLine + 1));
      const first = Array.from({ length: count }, (_, line) => (line + 1 >= startLine && line + 1 <= endLine ? line + 1 : -1));
      const states = replay(told.entries.slice(at), first, () => -1, true);
      const until = at + dice.int(told.entries.length - at);
      const values = states[until - at] ?? [];
      const left = values.flatMap((value, line) => (value < 0 ? [] : [[value, line + 1] as const]));
      const to = told.entries[until];
      const nowPath = told.paths[until];
      if (to === undefined || nowPath === undefined) continue;
      const all = left.length === endLine - startLine + 1;
      const inPlace = nowPath === path && left.every(([value, line]) => value === line);
      const standing = left.length === 0 ? "gone" : !all ? "changed" : inPlace ? "same" : "moved";
      const lines = {
        workspace: story.workspace,
        path,
        generation: entry.generation,
        sha256: story.content(path, entry.generation).sha256,
        startLine,
        endLine,
      };
      const asked = dice.maybe(0.5) ? anchors : story.anchors();
      const place = await asked.follow(lines, to.generation);
      const where = `history ${number}, entries ${at} to ${until} of ${told.entries.length}, seed ${dice.seed}`;
      expect(place, where).toEqual(
        standing === "gone"
          ? { standing, path: "", startLine: 0, endLine: 0 }
          : { standing, path: nowPath, startLine: left[0]?.[1], endLine: left.at(-1)?.[1] },
      );
      counts[standing] = (counts[standing] ?? 0) + 1;
    }
  }
  console.log(`anchors: ${HISTORIES} histories, ${JSON.stringify(counts)}`);
  expect(Object.keys(counts).sort()).toEqual(["changed", "gone", "moved", "same"]);
}, 240_000);
