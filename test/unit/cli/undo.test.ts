import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon, type Reply } from "../sdk/fake-daemon.ts";
import { type Driven, type DriveOptions, drive } from "./drive.ts";

const UNDONE = "ck_0123456789abcdefghij";
const THEIRS = "ck_bbbbbbbbbbbbbbbbbbbb";

async function against(
  answers: { readonly [operation: string]: JsonObject | Reply },
  argv: readonly string[],
  options: DriveOptions = {},
): Promise<Driven & { readonly sent: JsonObject[] }> {
  const daemon = await fakeDaemon(({ json }) => {
    const name = Object.keys(json)[0] ?? "";
    return { json: { [name in answers || name === "error" ? name : "error"]: answers[name] ?? answers.error ?? {} } };
  });
  const driven = await drive([...argv, "--endpoint", `unix:${daemon.socketPath}`], options);
  return { ...driven, sent: daemon.seen.map(({ json }) => json) };
}

const hunk = (start: string, end: string): JsonObject => ({
  start_line: start,
  end_line: end,
  undone_text: "X\nY\n",
  current_text: "X\n\x1b[2Jmine\n",
  wanted_text: "",
  checkpoint: THEIRS,
  principal: "bob",
});

const ANSWER: JsonObject = {
  checkpoint: "ck_made",
  undone: [UNDONE],
  request_id: "rq_1",
  paths: [
    { path: "a.txt", outcome: "UNDONE_OUTCOME_REVERSED", sha256: "aa" },
    { path: "b\n.txt", outcome: "UNDONE_OUTCOME_REVERSED", deleted: true },
    { path: "c.txt", outcome: "UNDONE_OUTCOME_REVERSED", renamed_to: "old/c.txt" },
    { path: "d.txt", outcome: "UNDONE_OUTCOME_NO_CHANGE" },
    { path: "e.txt", outcome: "UNDONE_OUTCOME_SKIPPED", conflict: "content", conflicts: [hunk("2", "3"), hunk("9", "8")] },
    { path: "f.bin", outcome: "UNDONE_OUTCOME_SKIPPED", conflict: "binary", conflicts: [{ ...hunk("0", "0"), undone_text: "" }] },
  ],
};

test("what came back is shown path by path, then what was skipped and who stands there", async () => {
  const { status, stdout, sent } = await against({ undo: ANSWER }, ["undo", UNDONE, "--skip-conflicts", "-m", "no"]);
  expect(status).toBe(0);
  expect(stdout).toBe(`restored  a.txt
removed   b\\n.txt
renamed   c.txt → old/c.txt
unchanged d.txt
skipped   e.txt  later work stands in these lines
  lines 2-3, by bob in ${THEIRS}
    now    │ X
           │ \\x1b[2Jmine
    undone │ X
           │ Y
    wanted │ (nothing)
  before line 9, by bob in ${THEIRS}
    now    │ X
           │ \\x1b[2Jmine
    undone │ X
           │ Y
    wanted │ (nothing)
skipped   f.bin  it is not text, and changed since, by bob in ${THEIRS}
took back 1 checkpoint: ${UNDONE}
checkpoint ck_made, request rq_1
`);
  expect(sent).toEqual([
    { undo: { request_id: expect.any(String), message: "no", skip_conflicts: true, select: { checkpoint: UNDONE } } },
  ]);
});

test("a preview is said to be one, and carries no request id that would be recorded", async () => {
  const preview = { ...ANSWER, preview: true, checkpoint: "", request_id: "", clean: false };
  const { stdout, sent } = await against({ undo: preview }, ["undo", "--by", "ada", "--since", "start", "--preview"]);
  expect(stdout).toContain(`would take back 1 checkpoint: ${UNDONE}\nnothing was changed\n`);
  expect(sent).toEqual([{ undo: { preview: true, select: { principal: "ada", since: "start" } } }]);
});

test("a refusal shows every hunk with what is there, what was undone and what is wanted", async () => {
  const error = {
    reason: "MERGE_CONFLICT",
    message: "e.txt cannot be taken back: other work stands in the way",
    suggestion: "take the later work back first",
    facts: {
      paths: [
        {
          path: "e.txt",
          conflict: "content",
          checkpoint: THEIRS,
          changed_by: "bob",
          hunks: [
            { current_lines: [2, 2], undone: "X\n", current: "mine\n", wanted: "2\n", checkpoint: THEIRS, changed_by: "bob" },
          ],
        },
        { path: "g.txt", conflict: "delete_modify", checkpoint: THEIRS, changed_by: "unknown", hunks: [] },
      ],
      path_count: 2,
    },
  };
  const plain = await against({ error }, ["undo", UNDONE, "--request-id", "u1"]);
  expect(plain.status).toBe(1);
  expect(plain.stderr).toBe(`conflict  e.txt  later work stands in these lines
  line 2, by bob in ${THEIRS}
    now    │ mine
    undone │ X
    wanted │ 2
conflict  g.txt  later work changed it, made it or took it away, by somebody unknown in ${THEIRS}
gin: MERGE_CONFLICT: e.txt cannot be taken back: other work stands in the way
  take the later work back first
  request u1
`);
  const json = await against({ error }, ["undo", UNDONE, "--json"]);
  expect(JSON.parse(json.stdout).error.reason).toBe("MERGE_CONFLICT");
  const colours = await against({ error }, ["undo", UNDONE], { terminal: true });
  expect(colours.stderr).toContain("\x1b[31mconflict \x1b[39m e.txt");
  expect(colours.stderr).toContain(", by bob in ck_bbbbbbbb\x1b");
});

test("an id may be cut as a terminal shows it, if it fits one of the newest", async () => {
  const log = { checkpoints: [{ id: UNDONE }, { id: THEIRS }, { id: "ck_bbbbbbcccccccccccccc" }] };
  const found = await against({ undo: ANSWER, list_checkpoints: log }, ["undo", UNDONE.slice(0, 11)]);
  expect(found.sent.at(-1)).toMatchObject({ undo: { select: { checkpoint: UNDONE } } });
  const redone = await against({ redo: ANSWER, list_checkpoints: log }, ["redo", UNDONE.slice(0, 11)]);
  expect(redone.sent.at(-1)).toMatchObject({ redo: { undo: UNDONE } });
  expect(redone.stdout).toContain("brought again 1 checkpoint");
  for (const [id, why] of [
    ["ck_bbbb", "fits several checkpoints"],
    ["ck_ttttt", "fits none of the newest 3 checkpoints"],
  ] as const) {
    const refused = await against({ list_checkpoints: log }, ["undo", id]);
    expect([refused.status, refused.stderr.includes(why)]).toEqual([2, true]);
  }
});

test("a selection is said in one way", async () => {
  for (const argv of [[], [UNDONE, "--request", "r"], ["--by", "ada"], ["--path", "a"], ["--to", UNDONE], ["--since", "start"]]) {
    expect((await against({}, ["undo", ...argv])).status).toBe(2);
  }
  const ways: [string[], JsonObject][] = [
    [["--request", "r"], { request_id: "r" }],
    [["--request", "r", "--by", "ada"], { request_id: "r", principal: "ada" }],
    [["--path", "src", "--to", UNDONE], { path: "src", checkpoint: UNDONE }],
  ];
  for (const [argv, select] of ways) {
    const { sent } = await against({ undo: ANSWER }, ["undo", ...argv]);
    expect(sent).toMatchObject([{ undo: { select } }]);
  }
});
