import fc from "fast-check";
import { expect, test } from "vitest";
import { Output } from "../../../src/clients/cli/output.ts";
import { showLine, showText, width } from "../../../src/clients/cli/terminal.ts";
import { scaled } from "../../helpers/scale.ts";

/** Control characters and those that turn or hide text, written as ranges of their own so that the code's table is not its own judge. */
function steers(text: string): boolean {
  return [...text].some((character) => {
    const code = character.codePointAt(0) ?? 0;
    const control = code < 0x20 ? code !== 0x0a && code !== 0x09 : code >= 0x7f && code <= 0x9f;
    return (
      control ||
      (code >= 0x202a && code <= 0x202e) ||
      (code >= 0x2066 && code <= 0x2069) ||
      code === 0x200e ||
      code === 0x200f ||
      code === 0x61c
    );
  });
}

test("every control and direction character is shown as an escape", () => {
  expect(showText("a\x1b[31mb\x07\x7f\x9b\u202e\u2066c\r")).toBe("a\\x1b[31mb\\x07\\x7f\\x9b\\u202e\\u2066c\\r");
  expect(showText("line\r\nnext\ttab\n")).toBe("line\nnext\ttab\n");
  expect(showLine("two\nlines\tand tab")).toBe("two\\nlines\\tand tab");
});

test("no text steers a terminal after it was made safe", () => {
  const unit = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("\x1b", "[", "\u202e", "\x9b", "\r", "\n", "a") }),
  );
  fc.assert(
    fc.property(unit, (text) => {
      expect(steers(showText(text))).toBe(false);
      expect(steers(showLine(text)) || /[\n\t]/.test(showLine(text))).toBe(false);
    }),
    { numRuns: scaled(500) },
  );
});

test("columns count wide characters twice and marks not at all", () => {
  expect([width("abc"), width("日本"), width("e\u0301"), width("🚀")]).toEqual([3, 4, 1, 2]);
});

function captured(isTTY: boolean, env: { [name: string]: string } = {}): { out: Output; text: () => string } {
  const chunks: string[] = [];
  return { out: new Output(() => ({ write: (data) => chunks.push(String(data)), isTTY }), env), text: () => chunks.join("") };
}

test("tables align, and a hostile cell stays in its row", () => {
  const { out, text } = captured(false);
  out.table(
    ["a", "b"],
    [
      ["日本", "x"],
      ["evil\n\x1b[2J", "y"],
    ],
  );
  expect(text()).toBe("a              b\n日本           x\nevil\\n\\x1b[2J  y\n");
});

test("colour is for terminals without NO_COLOR only", () => {
  expect(captured(true).out.style("red", "x")).toBe("\x1b[31mx\x1b[39m");
  expect(captured(true, { NO_COLOR: "1" }).out.style("red", "x")).toBe("x");
  expect(captured(true, { TERM: "dumb" }).out.style("red", "x")).toBe("x");
  expect(captured(false).out.style("red", "x")).toBe("x");
});

test("content is raw for programs and safe on a terminal; JSON parses the same either way", () => {
  const hostile = "\x1b]0;title\x07\u202e\n";
  const pipe = captured(false);
  pipe.out.content(hostile);
  expect(pipe.text()).toBe(hostile);
  const terminal = captured(true);
  terminal.out.content(hostile);
  expect(terminal.text()).toBe("\\x1b]0;title\\x07\\u202e\n");
  const json = captured(true);
  json.out.json({ name: "\x1b\x9b\u202e" });
  expect(steers(json.text())).toBe(false);
  expect(JSON.parse(json.text())).toEqual({ name: "\x1b\x9b\u202e" });
});
