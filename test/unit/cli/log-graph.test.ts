import { describe, expect, test } from "vitest";
import { drawGraph, LINES, type Node, PLAIN, type Strokes } from "../../../src/clients/cli/graph.ts";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

const node = (id: string, parent: string, undoes: readonly string[] = []): Node => ({
  id,
  parents: parent === "" ? [] : [parent],
  undoes,
});

const draw = (nodes: readonly Node[], strokes: Strokes): string[] =>
  drawGraph(nodes, strokes).map((row) => `${row.text} ${row.node === undefined ? "" : nodes[row.node]?.id}`.trimEnd());

describe("the graph", () => {
  test("is a line of checkpoints where nothing was taken back", () => {
    expect(draw([node("c", "b"), node("b", "a"), node("a", "")], LINES)).toEqual(["● c", "● b", "● a"]);
  });

  test("ties an undo to each checkpoint it took back, in a column of its own beside others that pass", () => {
    const nodes = [
      node("g", "f", ["d", "b"]),
      node("f", "e", ["c"]),
      node("e", "d"),
      node("d", "c"),
      node("c", "b"),
      node("b", ""),
    ];
    expect(draw(nodes, LINES)).toEqual(["●─╮   g", "●─│─╮ f", "● │ │ e", "●─┤ │ d", "●─│─╯ c", "●─╯   b"]);
    expect(draw(nodes, PLAIN)).toEqual(["*-.   g", "*-|-. f", "* | | e", "*-+ | d", "*-|-' c", "*-'   b"]);
  });

  test("gives a column back once it is free, and ties an undo of an undo", () => {
    const nodes = [node("e", "d", ["d"]), node("d", "c", ["c"]), node("c", "b"), node("b", "a", ["a"]), node("a", "")];
    expect(draw(nodes, LINES)).toEqual(["●─╮   e", "●─╯─╮ d", "●───╯ c", "●─╮   b", "●─╯   a"]);
  });

  test("shows where checkpoints are left out, and ties nothing that is not on the page", () => {
    expect(draw([node("z", "y", ["b", "q"]), node("b", "a"), node("a", "0")], LINES)).toEqual(["●─╮ z", "┊ │", "●─╯ b", "●   a"]);
  });
});

const now = new Date();
const at = (secondsAgo: number): string => new Date(now.getTime() - secondsAgo * 1_000).toISOString();
const CHECKPOINTS: JsonObject[] = [
  {
    id: "ck_00000000000000000003",
    parents: ["ck_00000000000000000002"],
    generation: "3",
    cause: "CAUSE_UNDO",
    principal: "ann",
    message: "not that",
    time: at(65),
    paths: [{ path: "src/a.ts" }],
    path_count: "1",
    undoes: ["ck_00000000000000000002"],
  },
  {
    id: "ck_00000000000000000002",
    parents: ["ck_00000000000000000001"],
    generation: "2",
    cause: "CAUSE_SAVE",
    principal: "agent-7",
    message: "evil \u001b[2J",
    time: at(2 * 3_600),
    paths: [{ path: "src/a.ts" }, { path: "src/b.ts" }, { path: "src/c.ts" }],
    path_count: "12",
    undoes: [],
  },
  {
    id: "ck_00000000000000000001",
    parents: [],
    generation: "1",
    cause: "CAUSE_IMPORT",
    principal: "",
    message: "",
    time: "2026-01-02T03:04:05.678Z",
    paths: [],
    path_count: "0",
    undoes: [],
  },
];

async function log(args: readonly string[], terminal: boolean, env: { readonly [name: string]: string } = {}) {
  const daemon = await fakeDaemon(() => ({ json: { list_checkpoints: { checkpoints: CHECKPOINTS, next_cursor: "" } } }));
  const run = await drive(["log", ...args, "--endpoint", `unix:${daemon.socketPath}`], { terminal, env });
  expect([run.status, run.stderr]).toEqual([0, ""]);
  return { lines: run.stdout.split("\n").slice(0, -1), sent: daemon.seen[0]?.json };
}

describe("gin log", () => {
  test("on a terminal: short ids, how long ago, who, and what an undo took back; nothing that steers it", async () => {
    const { lines } = await log([], true, { NO_COLOR: "1" });
    expect(lines).toEqual([
      "ck_00000000  undo    ann      1 m ago     src/a.ts  takes back ck_00000000  not that",
      "ck_00000000  save    agent-7  2 h ago     src/a.ts src/b.ts src/c.ts +9  taken back by ck_00000000  evil \\x1b[2J",
      "ck_00000000  import  unknown  2026-01-02",
    ]);
    const coloured = await log([], true);
    expect(coloured.lines[0]).toContain("\x1b[31mundo  \x1b[39m");
    expect(coloured.lines.join("\n")).not.toContain("\x1b[2J");
  });

  test("piped: whole ids and times in plain columns", async () => {
    const { lines } = await log([], false);
    expect(lines[0]).toMatch(/^checkpoint +gen {2}time +cause +principal +paths +message$/);
    expect(lines[3]).toBe("ck_00000000000000000001  1    2026-01-02T03:04:05Z  import  unknown");
    expect(lines.join("\n")).not.toContain("\x1b");
  });

  test("--graph draws it, with plain strokes and whole ids when piped", async () => {
    const drawn = await log(["--graph"], true, { NO_COLOR: "1" });
    expect(drawn.lines.map((line) => line.slice(0, 16))).toEqual(["●─╮  ck_00000000", "●─╯  ck_00000000", "●    ck_00000000"]);
    const plain = await log(["--graph"], false);
    expect(plain.lines.map((line) => line.slice(0, 28))).toEqual([
      "*-.  ck_00000000000000000003",
      "*-'  ck_00000000000000000002",
      "*    ck_00000000000000000001",
    ]);
    expect(plain.lines[0]).toContain("takes back ck_00000000000000000002");
    const dumb = await log(["--graph"], true, { TERM: "dumb" });
    expect(dumb.lines[0]?.slice(0, 5)).toBe("*-.  ");
  });

  test("asks by path, principal and cause", async () => {
    const { sent } = await log(["src", "--by", "ann", "--cause", "undo", "--limit", "5", "--graph"], false);
    expect(sent).toEqual({ list_checkpoints: { path: "src", principal: "ann", cause: "CAUSE_UNDO", limit: 5 } });
  });
});
