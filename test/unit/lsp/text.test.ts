import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createText, type IndexedText } from "../../../src/daemon/lsp/mirror/text.ts";
import type { Encoding } from "../../../src/daemon/lsp/session/types.ts";

const ENCODINGS: readonly Encoding[] = ["utf-8", "utf-16", "utf-32"];
const at = (line: number, character: number) => ({ line, character });
const of = (content: string | Uint8Array) => createText(content, createHash("sha256").update(content).digest("hex"), "a.txt");
const refused = (reason: string, field?: string) =>
  expect.objectContaining(field === undefined ? { reason } : { reason, facts: { field } });

const width = (character: string, encoding: Encoding) =>
  encoding === "utf-8" ? Buffer.byteLength(character) : encoding === "utf-16" ? character.length : 1;

/** A character, its offset, and where it stands as gin and as a server of each encoding count. */
interface Stop {
  readonly offset: number;
  readonly ours: { readonly line: number; readonly character: number };
  readonly theirs: { readonly [encoding in Encoding]: { readonly line: number; readonly character: number } };
}

/** Every place of a text that a position may name, found by walking it character by character. */
function naive(text: string): Stop[] {
  const stops: Stop[] = [];
  const characters = [...text];
  let offset = 0;
  let [line, character, theirLine] = [1, 1, 0];
  let counts: { [encoding in Encoding]: number } = { "utf-8": 0, "utf-16": 0, "utf-32": 0 };
  const stop = () => {
    const theirs = Object.fromEntries(ENCODINGS.map((encoding) => [encoding, at(theirLine, counts[encoding])]));
    stops.push({ offset, ours: at(line, character), theirs: theirs as Stop["theirs"] });
  };
  for (let index = 0; index < characters.length; index++) {
    const one = characters[index] ?? "";
    if (index === 0 && one === "\ufeff") {
      offset += 1;
      continue;
    }
    stop();
    const crlf = one === "\r" && characters[index + 1] === "\n";
    if (crlf) index += 1;
    offset += crlf ? 2 : one.length;
    const ends = crlf || one === "\n";
    [line, character] = ends ? [line + 1, 1] : [line, character + 1];
    if (ends || one === "\r") {
      theirLine += 1;
      counts = { "utf-8": 0, "utf-16": 0, "utf-32": 0 };
    } else for (const encoding of ENCODINGS) counts[encoding] += width(one, encoding);
  }
  stop();
  return stops;
}

const PIECES = [
  "\n",
  "\r\n",
  "\r",
  "a",
  "bc",
  "é",
  "e\u0301",
  "漢",
  "😀",
  "👩‍👩‍👧",
  "\u2028",
  "\u2029",
  "\f",
  "\v",
  "\u0085",
  "\t",
  "\u007f",
  "\ufeff",
];
const someText = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(""));
/** Long enough for the counts that are kept at marks. */
const longText = fc
  .tuple(
    fc.constantFrom("😀", "漢", "a", "é😀"),
    fc.integer({ min: 500, max: 2_500 }),
    someText,
    fc.integer({ min: 0, max: 1_100 }),
  )
  .map(([piece, times, rest, plain]) => "x".repeat(plain) + piece.repeat(times) + rest);

function agrees(text: string): void {
  const made = of(text);
  for (const { offset, ours, theirs } of naive(text)) {
    for (const encoding of ENCODINGS) {
      expect(made.toServer(ours, encoding)).toEqual(theirs[encoding]);
      expect(made.fromServer(theirs[encoding], encoding)).toEqual(ours);
      expect(made.offset(theirs[encoding], encoding)).toBe(offset);
      expect(made.position(offset, encoding)).toEqual(theirs[encoding]);
    }
  }
}

describe("positions", () => {
  test("every place of any text goes to the server and back, in each encoding, as a naive walk finds", () => {
    fc.assert(fc.property(someText, agrees), { numRuns: 300 });
  });

  test("long lines too, around the marks", () => {
    const seen = (text: string) => {
      const made = of(text);
      const stops = naive(text);
      for (let index = 0; index < stops.length; index += index % 13 === 0 ? 1 : 6) {
        const { offset, ours, theirs } = stops[index] as Stop;
        for (const encoding of ENCODINGS) {
          if (made.toServer(ours, encoding).character !== theirs[encoding].character) expect(ours).toBe(encoding);
          if (made.offset(theirs[encoding], encoding) !== offset) expect(theirs).toBe(encoding);
          if (made.fromServer(theirs[encoding], encoding).character !== ours.character) expect(theirs).toBe(encoding);
        }
      }
    };
    fc.assert(fc.property(longText, seen), { numRuns: 20 });
  });

  test("a position inside of a character is taken to its start, and is no place for an edit", () => {
    const inside = fc.tuple(someText, fc.constantFrom(...ENCODINGS), fc.nat(400), fc.nat(40));
    fc.assert(
      fc.property(inside, ([text, encoding, character, line]) => {
        const made = of(text);
        const stops = naive(text).filter((stop) => stop.theirs[encoding].line === line);
        const last = stops.at(-1);
        const place = made.fromServer(at(line, character), encoding);
        if (last === undefined) {
          expect(place).toEqual(naive(text).at(-1)?.ours);
          return;
        }
        const nearest = stops.findLast((stop) => stop.theirs[encoding].character <= character);
        expect(place).toEqual(nearest?.ours);
        if (nearest?.theirs[encoding].character === character)
          expect(made.offset(at(line, character), encoding)).toBe(nearest.offset);
        else expect(() => made.offset(at(line, character), encoding)).toThrow(refused("LSP_REFUSED"));
      }),
      { numRuns: 300 },
    );
  });

  test("a line that ends in CRLF: one past its end is before the CR", () => {
    const text = of("ab\r\nc");
    expect(text.toServer(at(1, 3), "utf-16")).toEqual(at(0, 2));
    expect(() => text.toServer(at(1, 4), "utf-16")).toThrow(refused("INVALID_REQUEST", "character"));
    expect(text.fromServer(at(0, 3), "utf-16")).toEqual(at(1, 3));
    expect(text.line(1)).toBe("ab");
  });

  test("a lone CR is a character of ours and ends a line of theirs", () => {
    const text = of("a\rb\r\r\nc");
    expect(text.lines).toBe(2);
    expect(text.toServer(at(1, 3), "utf-16")).toEqual(at(1, 0));
    expect(text.fromServer(at(1, 1), "utf-8")).toEqual(at(1, 4));
    expect(text.fromServer(at(2, 0), "utf-8")).toEqual(at(1, 5));
    expect(text.fromServer(at(3, 0), "utf-8")).toEqual(at(2, 1));
    expect(text.line(1)).toBe("a\rb\r");
  });

  test("U+2028, form feed and NUL end no line", () => {
    const text = of("a\u2028b\fc\0d\u0085e");
    expect(text.lines).toBe(1);
    expect(text.toServer(at(1, 10), "utf-16")).toEqual(at(0, 9));
    expect(text.toServer(at(1, 10), "utf-8")).toEqual(at(0, 12));
    expect(text.odd).toBe(true);
  });

  test("what is not there is refused with the field's name; the place behind the last line end is there", () => {
    const text = of("one\ntwo\n");
    expect(text.toServer(at(3, 1), "utf-16")).toEqual(at(2, 0));
    for (const line of [0, 4, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => text.toServer(at(line, 1), "utf-16")).toThrow(refused("INVALID_REQUEST", "line"));
    }
    for (const character of [0, 5, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => text.toServer(at(1, character), "utf-16")).toThrow(refused("INVALID_REQUEST", "character"));
    }
    expect(() => text.toServer(at(3, 2), "utf-16")).toThrow("character 2 of line 3 is not there: there are 0 characters there");
    expect(() => of("a").toServer(at(2, 1), "utf-16")).toThrow("line 2 is not there: there are 1 lines");
  });

  test("an empty file has one place and no line", () => {
    const text = of("");
    expect([text.lines, text.line(1), text.line(2)]).toEqual([0, "", ""]);
    expect(text.toServer(at(1, 1), "utf-8")).toEqual(at(0, 0));
    expect(text.fromServer(at(7, 7), "utf-8")).toEqual(at(1, 1));
    expect(text.offset(at(0, 0), "utf-8")).toBe(0);
  });

  test("without a final newline the last line counts, and the line behind it is the end of an edit", () => {
    const text = of("a\nbc");
    expect(text.lines).toBe(2);
    expect(text.offset(at(2, 0), "utf-16")).toBe(4);
    expect(() => text.offset(at(2, 1), "utf-16")).toThrow(refused("LSP_REFUSED"));
    expect(() => text.offset(at(3, 0), "utf-16")).toThrow(refused("LSP_REFUSED"));
    expect(() => text.offset(at(1, 3), "utf-16")).toThrow(refused("LSP_REFUSED"));
    expect(() => text.offset(at(-1, 0), "utf-16")).toThrow(refused("LSP_REFUSED"));
    expect(() => text.offset(at(0.5, 0), "utf-16")).toThrow(refused("LSP_REFUSED"));
  });

  test("the largest number is the end of a line, or of the text", () => {
    const text = of("a\nbc");
    for (const most of [2 ** 31 - 1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER]) {
      expect(text.offset(at(0, most), "utf-16")).toBe(1);
      expect(text.offset(at(most, 0), "utf-16")).toBe(4);
      expect(text.fromServer(at(most, most), "utf-16")).toEqual(at(2, 3));
    }
  });

  test("answers that are no numbers of a text are taken to its ends", () => {
    const text = of("ab\nc");
    expect(text.fromServer(at(-3, -1), "utf-16")).toEqual(at(1, 1));
    expect(text.fromServer(at(Number.NaN, 1.9), "utf-16")).toEqual(at(1, 2));
    expect(text.span({ start: at(0, 1), end: at(9, 0) }, "utf-16")).toEqual({ start: at(1, 2), end: at(2, 2) });
  });
});

describe("byte order mark", () => {
  test("it stays in the text, is no character, and is not told", () => {
    const bytes = Buffer.from("\ufeffaé\nb");
    const text = of(bytes);
    expect(Buffer.from(text.text)).toEqual(bytes);
    expect(text.body).toBe("aé\nb");
    expect(text.line(1)).toBe("aé");
    for (const encoding of ENCODINGS) expect(text.toServer(at(1, 2), encoding)).toEqual(at(0, 1));
    expect(text.fromServer(at(0, 0), "utf-8")).toEqual(at(1, 1));
  });

  test("an edit of the whole keeps it", () => {
    const text = of("\ufeffone\n");
    const [from, to] = [text.offset(at(0, 0), "utf-16"), text.offset(at(1, 0), "utf-16")];
    expect(`${text.text.slice(0, from)}two\n${text.text.slice(to)}`).toBe("\ufefftwo\n");
  });

  test("a file of nothing else is one empty line", () => {
    const text: IndexedText = of("\ufeff");
    expect([text.lines, text.body, text.toServer(at(1, 1), "utf-8")]).toEqual([1, "", at(0, 0)]);
  });

  test("a server that read the file itself counts it; nothing else is different, and no edit comes before it", () => {
    const text = of("\ufeffa😀\nb");
    const read = text.asRead();
    for (const [encoding, ahead] of [
      ["utf-8", 3],
      ["utf-16", 1],
      ["utf-32", 1],
    ] as const) {
      expect(read.toServer(at(1, 2), encoding)).toEqual(at(0, ahead + 1));
      expect(read.fromServer(at(0, ahead + 1), encoding)).toEqual(at(1, 2));
      expect(read.offset(at(0, ahead + 1), encoding)).toBe(2);
      expect(read.toServer(at(2, 2), encoding)).toEqual(at(1, 1));
      for (const before of [0, ahead]) {
        expect(read.offset(at(0, before), encoding)).toBe(1);
        expect(read.fromServer(at(0, before), encoding)).toEqual(at(1, 1));
      }
    }
    expect([read.text, read.body, read.lines, read.line(1), read.sha256]).toEqual([
      "\ufeffa😀\nb",
      "\ufeffa😀\nb",
      2,
      "a😀",
      text.sha256,
    ]);
    const plain = of("a");
    expect(plain.asRead()).toBe(plain);
  });

  test("a second one is a character", () => {
    expect(of("\ufeff\ufeffa").toServer(at(1, 2), "utf-8")).toEqual(at(0, 3));
  });
});

describe("what is no text", () => {
  test("bytes that are not UTF-8 and files with a NUL at their beginning are BINARY_FILE", () => {
    const binary = [[0xff, 0xfe, 0x61, 0], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0, 0x62]];
    for (const bytes of binary) expect(() => of(Uint8Array.from(bytes))).toThrow(refused("BINARY_FILE"));
    expect(() => of(Uint8Array.from([0xff]))).toThrow("a.txt is no text in UTF-8");
    const late = Buffer.concat([Buffer.alloc(8_192, "a"), Buffer.from([0])]);
    expect(of(late).text).toHaveLength(8_193);
  });

  test("a string with half of a surrogate pair is refused", () => {
    for (const half of ["\ud83d", "a\ude00b", "\ude00\ud83d"]) expect(() => of(half)).toThrow(refused("INVALID_REQUEST", "text"));
    expect(of("😀").text).toBe("😀");
  });
});

test("one line of 8 MiB is asked about a thousand times in no time", () => {
  const text = of(`"${"é😀x".repeat(1_200_000)}"`);
  for (let index = 1; index <= 1_000; index++) {
    const place = at(1, index * 3_599);
    expect(text.fromServer(text.toServer(place, "utf-8"), "utf-8")).toEqual(place);
  }
}, 10_000);
