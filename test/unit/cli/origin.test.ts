import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { type Driven, type DriveOptions, drive } from "./drive.ts";

/** Runs a command line against answers by operation: a list gives them one after the other. */
async function against(
  answers: { readonly [operation: string]: JsonObject | JsonObject[] },
  argv: readonly string[],
  options: DriveOptions = {},
): Promise<Driven & { readonly sent: JsonObject[] }> {
  const sent: JsonObject[] = [];
  const daemon = await fakeDaemon(({ json }) => {
    const name = Object.keys(json)[0] ?? "";
    sent.push(json);
    const answer = answers[name] ?? {};
    return { json: { [name]: Array.isArray(answer) ? (answer.shift() ?? {}) : answer } };
  });
  return { ...(await drive([...argv, "--endpoint", `unix:${daemon.socketPath}`], options)), sent };
}

const by = (checkpoint: string, principal: string, cause = "CAUSE_SAVE", message = ""): JsonObject => ({
  checkpoint,
  principal,
  cause,
  message,
  time: "2026-11-30T10:13:22.123Z",
  unknown: false,
});
const span = (start: number, end: number, origin: JsonObject): JsonObject => ({
  start_line: String(start),
  end_line: String(end),
  origin,
});
const spans = [
  span(1, 1, by("ck_aaaaaaaaaaaaaaaaaaaa", "agent-1")),
  span(2, 9, by("ck_bbbbbbbbbbbbbbbbbbbb", "", "CAUSE_EXTERNAL")),
  span(10, 10, by("ck_cccccccccccccccccccc", "bob")),
  span(11, 11, { checkpoint: "", principal: "", unknown: true }),
];
const file = { kind: "PATH_KIND_FILE", path: "a", checkpoint: "ck_h", next_cursor: "", spans };
const content = `one\n${"x\n".repeat(8)}t\ten\x1b[31m\nlast`;

test("prints like blame: short id, principal, time, line number, text, in columns", async () => {
  const { stdout, sent, status } = await against({ origin: { ...file }, read_path: { text: content, next_cursor: "" } }, [
    "origin",
    "a",
  ]);
  expect(status).toBe(0);
  expect(stdout.split("\n")).toEqual([
    "ck_aaaaaaaa  agent-1    2026-11-30 10:13   1  one",
    ...Array.from({ length: 8 }, (_, at) => `ck_bbbbbbbb  (outside)  2026-11-30 10:13   ${at + 2}  x`),
    "ck_cccccccc  bob        2026-11-30 10:13  10  t\ten\\x1b[31m",
    `?            unknown    ${" ".repeat(16)}  11  last`,
    "",
  ]);
  expect(sent[1]).toEqual({
    read_path: { path: "a", snapshot: "ck_h", start_line: 1, end_line: 11, limit: 1_048_576 },
  });
});

test("of lines in the middle of a file the bytes of those alone are read, and stand by their numbers", async () => {
  const answers = { origin: { ...file, spans: [span(9, 9, by("ck_b", "bob")), span(10, 10, by("ck_c", "ada"))] } };
  const { stdout, sent } = await against({ ...answers, read_path: { text: "nine\nten\n", next_cursor: "" } }, [
    "origin",
    "a",
    "--lines",
    "9:10",
  ]);
  expect(stdout.split("\n").map((line) => line.slice(-8).trim())).toEqual(["9  nine", "10  ten", ""]);
  expect(sent[1]).toMatchObject({ read_path: { start_line: 9, end_line: 10 } });
});

test("tells agents apart by colour on a terminal, and only there", async () => {
  const answers = () => ({ origin: { ...file }, read_path: { text: content, next_cursor: "" } });
  const { stdout } = await against(answers(), ["origin", "a"], { terminal: true });
  expect(stdout).toContain("\x1b[36mck_aaaaaaaa  agent-1  \x1b[39m");
  expect(stdout).toContain("\x1b[33mck_cccccccc  bob      \x1b[39m");
  expect(stdout).toContain("\x1b[2mck_bbbbbbbb  (outside)\x1b[22m");
  expect((await against(answers(), ["origin", "a"], { terminal: true, env: { NO_COLOR: "1" } })).stdout).not.toContain("\x1b[");
});

test("asks for lines and a snapshot, goes through all pages, or gives one as JSON", async () => {
  const pages = (): JsonObject[] => [
    { ...file, spans: [spans[0] as JsonObject], next_cursor: "c1" },
    { ...file, spans: [span(2, 2, by("ck_b", "bob"))] },
  ];
  const { stdout, sent } = await against({ origin: pages(), read_path: { text: "one\ntwo\n", next_cursor: "" } }, [
    "origin",
    "a",
    "--at",
    "base",
    "--lines",
    "1:2",
  ]);
  expect(stdout.split("\n").map((line) => line.slice(-3))).toEqual(["one", "two", ""]);
  expect(sent[0]).toEqual({ origin: { path: "a", snapshot: "base", start_line: 1, end_line: 2, limit: 1000 } });
  expect(sent[1]).toMatchObject({ origin: { cursor: "c1" } });
  const json = await against({ origin: pages() }, ["origin", "a", "--json"]);
  expect([JSON.parse(json.stdout).next_cursor, json.sent]).toEqual(["c1", [{ origin: { path: "a" } }]]);
  expect((await against({}, ["origin", "a", "--lines", "2,3"])).status).toBe(2);
});

test("a directory's entries, and a file that is not text", async () => {
  const entries = [
    { name: "src", kind: "PATH_KIND_DIRECTORY", origin: by("ck_aaaaaaaaaaaaaaaaaaaa", "agent-1", "CAUSE_SAVE", "round\ttotals") },
    { name: "a\n.txt", kind: "PATH_KIND_FILE", origin: by("ck_bbbbbbbbbbbbbbbbbbbb", "", "CAUSE_IMPORT") },
  ];
  const directory = await against({ origin: { kind: "PATH_KIND_DIRECTORY", entries, next_cursor: "" } }, ["origin", "."]);
  expect(directory.stdout).toBe(
    "ck_aaaaaaaa  agent-1   2026-11-30 10:13  src/  round\\ttotals\nck_bbbbbbbb  (import)  2026-11-30 10:13  a\\n.txt\n",
  );
  const binary = await against({ origin: { ...file, spans: [span(0, 0, by("ck_a", "bob"))] } }, ["origin", "bin"]);
  expect([binary.stdout, binary.sent]).toEqual([
    "ck_a  bob  2026-11-30 10:13  not text\n",
    [{ origin: { path: "bin", limit: 1000 } }],
  ]);
});

test("annotate sends text, lines and what it answers; - reads standard input", async () => {
  const answer = { id: "an_2", thread: "an_1", checkpoint: "ck_1", request_id: "r" };
  const { stdout, sent } = await against(
    { write_annotation: answer },
    [
      "annotate",
      "ck_1",
      "-m",
      "-",
      "--on",
      "a.ts:3-5",
      "--on",
      "b:c.ts",
      "--on",
      "d:7",
      "--reply",
      "an_1",
      "--evidence",
      "ev",
      "--request-id",
      "r",
    ],
    { input: "two\nlines\n" },
  );
  expect(stdout).toBe("annotated  ck_1\nan_2 in thread an_1, request r\n");
  expect(sent).toEqual([
    {
      write_annotation: {
        request_id: "r",
        checkpoint: "ck_1",
        text: "two\nlines",
        anchors: [
          { path: "a.ts", start_line: "3", end_line: "5" },
          { path: "b:c.ts" },
          { path: "d", start_line: "7", end_line: "7" },
        ],
        reply_to: "an_1",
        evidence_id: "ev",
      },
    },
  ]);
  expect((await against({}, ["annotate"])).status).toBe(2);
});

test("annotations are shown as threads, with where their lines stand; hostile text is escaped", async () => {
  const note = (id: string, more: JsonObject): JsonObject => ({
    id,
    checkpoint: "ck_1",
    principal: "bob",
    text: `text of ${id}`,
    time: "2026-11-30T10:13:22Z",
    thread: "an_1",
    reply_to: "",
    corrects: "",
    corrected_by: "",
    anchors: [],
    ...more,
  });
  const anchor = {
    anchor: { path: "a.ts", start_line: "3", end_line: "4" },
    standing: "ANCHOR_STANDING_MOVED",
    path: "b.ts",
    start_line: "9",
    end_line: "10",
    text: "three\nfour\n",
  };
  // Newest first, as the daemon gives them.
  const annotations = [
    note("an_4", { reply_to: "an_1", text: "\x1b[2Jreply\nmore" }),
    note("an_3", { thread: "an_3" }),
    note("an_2", { corrects: "an_1", text: "better" }),
    note("an_1", { corrected_by: "an_2", anchors: [anchor] }),
  ];
  const { stdout, sent } = await against({ list_annotations: { annotations, next_cursor: "" } }, ["annotations"]);
  expect(stdout.split("\n")).toEqual([
    "an_1  bob  2026-11-30 10:13  on ck_1  corrected by an_2",
    "  a.ts:3-4  moved b.ts:9-10",
    "  | three",
    "  | four",
    "  text of an_1",
    "  an_2  bob  2026-11-30 10:13  corrects an_1",
    "    better",
    "  an_4  bob  2026-11-30 10:13  answers an_1",
    "    \\x1b[2Jreply",
    "    more",
    "",
    "an_3  bob  2026-11-30 10:13  on ck_1",
    "  text of an_3",
    "",
  ]);
  expect(sent).toEqual([{ list_annotations: { limit: 50 } }]);
  // By path the threads are shown whole: answers have no anchors of their own.
  const page = { annotations: [annotations[3] as JsonObject], next_cursor: "" };
  const thread = { annotations: [annotations[3] as JsonObject, annotations[0] as JsonObject], next_cursor: "" };
  const byPath = await against({ list_annotations: [page, thread] }, ["annotations", "--path", "src"]);
  expect(byPath.stdout).toContain("answers an_1");
  expect(byPath.sent).toEqual([
    { list_annotations: { path: "src", limit: 50 } },
    { list_annotations: { thread: "an_1", limit: 1000 } },
  ]);
  expect((await against({}, ["annotations", "--path", "a", "--thread", "an_1"])).status).toBe(2);
});
