import fc from "fast-check";
import { expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { loosen, loosened } from "../../../src/daemon/tools/edit/fuzzy.ts";
import { findOld } from "../../../src/daemon/tools/edit/match.ts";
import { splice } from "../../../src/daemon/tools/edit/splice.ts";
import { bytesOf, encoded, fileText, unixEnds } from "../../../src/daemon/tools/edit/text.ts";
import { chance } from "../../helpers/random.ts";
import { isLong, scaled } from "../../helpers/scale.ts";

/** A full run takes minutes. */
const LONG_MS = 600_000;

/** 50,000 inputs in a full run. */
const RUNS = isLong ? 50_000 : scaled(5_000);

/** Pieces that edits stumble over. */
const piece = fc.constantFrom(
  "a",
  "b",
  "ab",
  " ",
  "  ",
  "\t",
  "\n",
  "\n\n",
  "\r\n",
  "\r",
  "\u2018",
  "\u2019",
  "'",
  "\u201c",
  '"',
  "\u2013",
  "-",
  "\u00a0",
  "\u3000",
  "\u2028",
  "\f",
  "\ufeff",
  "é",
  "😀",
  "$&",
  "$1",
  "x\u00a0 \t",
  "\u2009\n",
);
const text = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(""));
const raw = fc.oneof(
  text.map((one) => Buffer.from(one)),
  fc
    .array(
      fc.oneof(
        piece.map((one) => Buffer.from(one)),
        fc.uint8Array({ maxLength: 3 }).map((one) => Buffer.from(one)),
      ),
      { maxLength: 16 },
    )
    .map((all) => Buffer.concat(all)),
);
const options = (label: string) => ({ numRuns: RUNS, seed: Number(chance(label).seed) });

it(
  "an edit changes no byte outside its match, whatever the file and the texts",
  () => {
    let [exact, fuzzy] = [0, 0];
    fc.assert(
      fc.property(
        raw,
        text,
        fc.nat(),
        fc.nat(12),
        fc.constantFrom("drawn", "cut", "loosened"),
        text,
        fc.boolean(),
        (...drawn) => {
          const [bytes, oldText, from, length, how, newText, reindent] = drawn;
          if (bytes.includes(0) || /^(\xff\xfe|\xfe\xff)/.test(bytes.toString("latin1"))) return;
          const file = fileText(bytes, "a");
          const at = from % (file.text.length + 1);
          const cut = file.text.slice(at, at + length);
          const old = how === "drawn" ? encoded(unixEnds(oldText), "old_text") : how === "cut" ? cut : loosened(cut);
          if (old === "") return;
          const found = findOld(file, old);
          if (found.kind !== "one") return;
          if (found.match.fuzzy) fuzzy += 1;
          else exact += 1;
          const replacement = encoded(unixEnds(newText), "new_text");
          const done = splice(file, found.match, replacement, reindent);
          const start = file.at(found.match.start);
          const end = file.at(found.match.end);
          expect(start).toBeLessThanOrEqual(end);
          expect(done.raw.slice(0, start)).toBe(file.raw.slice(0, start));
          expect(done.raw.slice(start + done.after.length)).toBe(file.raw.slice(end));
          const matched = file.text.slice(found.match.start, found.match.end);
          if (!found.match.fuzzy) expect(matched).toBe(old);
          else expect(loosened(matched)).toBe(loosened(old));
          expect(done.firstLine).toBeGreaterThan(0);
          expect(bytesOf(done.raw).length).toBe(done.raw.length);
        },
      ),
      options("edit matching"),
    );
    // Most files hold a text more than once, or not at all; enough do not.
    expect(exact).toBeGreaterThan(RUNS / 20);
    expect(fuzzy).toBeGreaterThan(RUNS / 200);
  },
  LONG_MS,
);

it(
  "a text that is in the file once is found there, and LF for CRLF finds it too",
  () => {
    fc.assert(
      fc.property(text, text, text, fc.constantFrom("\n", "\r\n", "\r"), (before, wanted, after, ending) => {
        const plain = [before, wanted, after].map((one) => unixEnds(one).replaceAll("\ufeff", ""));
        const whole = plain.join("");
        const old = plain[1] ?? "";
        if (old === "" || whole.split(old).length !== 2 || whole.indexOf(old) !== whole.lastIndexOf(old)) return;
        const file = fileText(Buffer.from(whole.replaceAll("\n", () => ending)), "a");
        const found = findOld(file, encoded(old, "old_text"));
        expect(found.kind).toBe("one");
        if (found.kind === "one") expect(found.match.fuzzy).toBe(false);
      }),
      options("edit finding"),
    );
  },
  LONG_MS,
);

it(
  "a loosened text leads back to where it came from",
  () => {
    fc.assert(
      fc.property(text, (one) => {
        const given = encoded(unixEnds(one), "text");
        const loose = loosen(given);
        expect(loose.text).toBe(loosened(given));
        let last = 0;
        for (let at = 0; at <= loose.text.length; at += 1) {
          const start = loose.start(at);
          expect(loose.end(at, false)).toBeLessThanOrEqual(loose.end(at, true));
          expect(start).toBeGreaterThanOrEqual(last);
          expect(start).toBeLessThanOrEqual(given.length);
          last = start;
        }
        expect(loosened(given.slice(0, loose.end(loose.text.length, true)))).toBe(loose.text);
      }),
      options("edit loosening"),
    );
  },
  LONG_MS,
);

it("long lines of blanks, of one character and of typography do not stall", () => {
  const hard = [
    " ".repeat(2_000_000),
    `${" ".repeat(1_000_000)}x`,
    "\u00a0".repeat(500_000),
    "a".repeat(2_000_000),
    "\u2019 ".repeat(300_000),
  ];
  for (const one of hard) {
    const file = fileText(Buffer.from(one), "a");
    for (const old of ["x  '", `${"a".repeat(5_000)}b`, "\u2018 \u2018", `${" ".repeat(5_000)}y`]) {
      const began = performance.now();
      try {
        findOld(file, encoded(old, "old_text"));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(GinError);
      }
      expect(performance.now() - began).toBeLessThan(3_000);
    }
  }
});
