import { expect, test } from "vitest";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

const ONE = "ck_0123456789abcdefghij";
const TWO = "ck_0123bbbbbbbbbbbbbbbb";

/** What a command line sent, beside the question for the newest checkpoints; and how it ended. */
async function against(argv: readonly string[]) {
  const daemon = await fakeDaemon(({ json }) => {
    const name = Object.keys(json)[0] ?? "";
    return { json: { [name]: name === "list_checkpoints" ? { checkpoints: [{ id: ONE }, { id: TWO }] } : {} } };
  });
  const driven = await drive([...argv, "--json", "--endpoint", `unix:${daemon.socketPath}`]);
  return { ...driven, sent: daemon.seen.map(({ json }) => json).filter((json) => !("list_checkpoints" in json)) };
}

test.each([
  [["diff", "ck_01234", "ck_0123b"], { diff: { from: ONE, to: TWO } }],
  [["diff", "base", "ck_01234"], { diff: { from: "base", to: ONE } }],
  [["read", "a", "--snapshot", "ck_01234"], { read_path: { path: "a", snapshot: ONE } }],
  [["origin", "a", "--at", "ck_01234"], { origin: { path: "a", snapshot: ONE } }],
  [["annotations", "--checkpoint", "ck_01234"], { list_annotations: { checkpoint: ONE } }],
  [["explain", "ck_01234"], { explain: { id: ONE } }],
  [["annotate", "ck_01234", "-m", "x"], { write_annotation: { checkpoint: ONE } }],
  [["undo", "--path", "a", "--to", "ck_01234"], { undo: { select: { path: "a", checkpoint: ONE } } }],
  [["redo", "ck_01234"], { redo: { undo: ONE } }],
])("%j names its checkpoints by the beginning of their ids", async (argv, sent) => {
  const driven = await against(argv);
  expect([driven.status, driven.sent]).toMatchObject([0, [sent]]);
});

test("a beginning that fits several checkpoints, or none, is refused before anything is asked of it", async () => {
  for (const [id, how] of [
    ["ck_0123", "fits several checkpoints"],
    ["ck_9999", "fits none of the newest 2 checkpoints"],
  ] as const) {
    const { status, stderr, sent } = await against(["diff", id]);
    expect([status, sent]).toEqual([2, []]);
    expect(stderr).toContain(how);
  }
});
