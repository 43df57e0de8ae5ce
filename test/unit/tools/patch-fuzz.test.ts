import fc from "fast-check";
import { expect, it } from "vitest";
import { GinError, Pace, systemClock } from "../../../src/daemon/base/index.ts";
import { encoded } from "../../../src/daemon/tools/edit/text.ts";
import { parsePatch, type Section } from "../../../src/daemon/tools/patch/parse.ts";
import { Steps } from "../../../src/daemon/tools/patch/seek.ts";
import { update } from "../../../src/daemon/tools/patch/update.ts";
import { chance } from "../../helpers/random.ts";
import { isLong, scaled } from "../../helpers/scale.ts";

/** A full run takes minutes. */
const LONG_MS = 600_000;

/** 50,000 inputs in a full run. */
const RUNS = isLong ? 50_000 : scaled(5_000);
const pace = new Pace(systemClock, undefined);
const options = (label: string) => ({ numRuns: RUNS, seed: Number(chance(label).seed) });

const line = fc.constantFrom(
  "*** Begin Patch",
  "*** End Patch",
  "*** Update File: a",
  "*** Add File: b",
  "*** Delete File: c",
  "*** Move to: d",
  "*** End of File",
  "@@",
  "@@ x",
  "@@ y ",
  " x",
  " y",
  "-x",
  "-y",
  "+x",
  "+z",
  "+",
  "-",
  " ",
  "",
  "x",
  "\\ No newline",
  "\t",
  "*** ",
  "- \u2019",
  "+\u00e9",
  "@@@",
  "@",
);

/** A text's lines without its mark and their ends. */
const linesOf = (text: string): string[] => {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n?|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

it(
  "any lines are a patch or refused with the line, and a patch is carried out or refused",
  async () => {
    const came = { made: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 14 }),
        fc.boolean(),
        fc.constantFrom("\n", "\r\n"),
        fc.constantFrom("", "x\ny\nx\n", "x\r\ny\r\n", "y", " x\n\ty \n", "\ufeffx\ny", "x\ry\r"),
        async (lines, framed, ending, file) => {
          const whole = framed ? ["*** Begin Patch", "*** Update File: a", ...lines, "*** End Patch"] : lines;
          let sections: Section[] = [];
          const made: { section: Section & { kind: "update" }; after: string }[] = [];
          try {
            sections = parsePatch(encoded(whole.join(ending), "patch"));
            for (const section of sections) {
              if (section.kind !== "update") continue;
              const { bytes } = await update(Buffer.from(file), section, "a", new Steps(), pace);
              made.push({ section, after: bytes.toString() });
            }
          } catch (thrown) {
            came.refused += 1;
            expect(thrown).toBeInstanceOf(GinError);
            const { reason, facts } = thrown as GinError;
            expect(sections.length === 0 ? ["PATCH_INVALID"] : ["EDIT_NOT_FOUND", "EDIT_NOT_UNIQUE"]).toContain(reason);
            expect(facts.line).toBeGreaterThan(0);
            expect(facts.line).toBeLessThanOrEqual(whole.length + 1);
          }
          for (const { section, after } of made) {
            const lines = section.hunks.flatMap((hunk) => hunk.lines);
            const fresh = lines.flatMap(({ kind, text }) => (kind === "+" ? [Buffer.from(text, "latin1").toString()] : []));
            // A last line that is empty and has no end is no line: what is put at an open end may be one.
            if (fresh.includes("") && !/[\r\n]$/.test(file)) continue;
            came.made += 1;
            const gone = lines.filter(({ kind }) => kind === "-").length;
            expect(linesOf(after)).toHaveLength(linesOf(file).length + fresh.length - gone);
            expect(linesOf(after)).toEqual(expect.arrayContaining(fresh));
          }
        },
      ),
      options("patch parsing"),
    );
    // Neither is rare: a hundredth of all inputs at least.
    expect([came.made > RUNS / 100, came.refused > RUNS / 100], JSON.stringify(came)).toEqual([true, true]);
  },
  LONG_MS,
);

it(
  "a patch made from a change makes that change, and keeps every other byte",
  async () => {
    const word = fc.constantFrom("a", "b", "c", " d", "e ", "", "\u2019", "é");
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { minLength: 1, maxLength: 12 }),
        fc.nat(),
        fc.nat(3),
        fc.array(word, { maxLength: 3 }),
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        async (lines, at, count, fresh, ending, open) => {
          const from = at % lines.length;
          const to = Math.min(lines.length, from + count);
          // The whole file is the change's context: its place cannot be mistaken.
          const body = [
            ...lines.slice(0, from).map((one) => ` ${one}`),
            ...lines.slice(from, to).map((one) => `-${one}`),
            ...fresh.map((one) => `+${one}`),
            ...lines.slice(to).map((one) => ` ${one}`),
          ];
          const patch = ["*** Begin Patch", "*** Update File: a", "@@", ...body, "*** End Patch"].join("\n");
          const wanted = [...lines.slice(0, from), ...fresh, ...lines.slice(to)];
          // A last line that is empty and has no end is no line.
          if (open && (lines.at(-1) === "" || wanted.at(-1) === "")) return;
          const before = lines.join(ending) + (open ? "" : ending);
          const [section] = parsePatch(encoded(patch, "patch"));
          if (section?.kind !== "update") throw new Error("no update");
          const { bytes } = await update(Buffer.from(before), section, "a", new Steps(), pace);
          const lastStays = to < lines.length || fresh.length > 0;
          // Without its last line a file ends in the line end of the one before.
          const end = wanted.length === 0 ? "" : open && lastStays ? "" : ending;
          // One line has no end to take over: new ones get LF.
          const between = open && lines.length === 1 ? "\n" : ending;
          expect(bytes.toString()).toBe(wanted.join(between) + (wanted.length === 0 ? "" : end));
        },
      ),
      options("patch changes"),
    );
  },
  LONG_MS,
);
