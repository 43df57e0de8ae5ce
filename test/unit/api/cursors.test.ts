import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { type CursorScope, Cursors } from "../../../src/daemon/api/cursors.ts";
import type { Json } from "../../../src/daemon/base/index.ts";

const SCOPE: CursorScope = { operation: "Log", principal: "ann", query: ["a", 1] };
const POSITIONS: readonly Json[] = [0, -1, "", "x", [1], { at: "é" }, null, true];

test("no cursor begins with a dash, which a command line would take for a flag", () => {
  for (let count = 0; count < 500; count += 1) {
    const cursors = new Cursors(randomBytes(32));
    for (const position of POSITIONS) expect(cursors.seal(SCOPE, position)).toMatch(/^[A-Za-f][\w-]*$/);
  }
});

test("a cursor gives its position back under its own question and caller alone, whole and unaltered", () => {
  const cursors = new Cursors(randomBytes(32));
  for (const position of POSITIONS) {
    const cursor = cursors.seal(SCOPE, position);
    expect(cursors.open(SCOPE, cursor)).toEqual(position);
    const others: CursorScope[] = [
      { ...SCOPE, operation: "Diff" },
      { ...SCOPE, principal: "ben" },
      { ...SCOPE, query: ["a", 2] },
    ];
    for (const other of others) expect(() => cursors.open(other, cursor)).toThrow("altered or belongs to another list");
    const altered = [cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, `${cursor}=`, ` ${cursor}`];
    altered.push(...Array.from(cursor, (char, at) => `${cursor.slice(0, at)}${char === "A" ? "B" : "A"}${cursor.slice(at + 1)}`));
    for (const wrong of altered) expect(() => cursors.open(SCOPE, wrong)).toThrow("altered or belongs to another list");
    expect(() => new Cursors(randomBytes(32)).open(SCOPE, cursor)).toThrow("altered or belongs to another list");
  }
  expect(cursors.open(SCOPE, "")).toBeUndefined();
});
