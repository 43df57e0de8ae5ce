import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { fakeDaemon } from "../sdk/fake-daemon.ts";
import { drive } from "./drive.ts";

const PATCH = `diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one\x1b[2J
--- two\r
+++ TWO
 three
\\ No newline at end of file
`;
const file = (over: JsonObject): JsonObject => ({
  path: "a.txt",
  status: "DIFF_STATUS_MODIFIED",
  old_path: "",
  old_sha256: "a",
  new_sha256: "b",
  old_size: "12",
  new_size: "2048",
  old_executable: false,
  new_executable: false,
  added_lines: "1",
  removed_lines: "1",
  patch: PATCH,
  patch_continues: false,
  no_patch: "",
  ...over,
});

/** Runs `gin diff` against pages. */
async function diff(pages: readonly (readonly JsonObject[])[], argv: readonly string[] = [], terminal = false, env = {}) {
  let page = 0;
  const daemon = await fakeDaemon(() => {
    const files = pages[page] ?? [];
    page += 1;
    return { json: { diff: { files, next_cursor: page < pages.length ? `c${page}` : "" } } };
  });
  const driven = await drive(["diff", ...argv, "--endpoint", `unix:${daemon.socketPath}`], { terminal, env });
  return { ...driven, sent: daemon.seen.map(({ json }) => json.diff as JsonObject) };
}

test("into a pipe go the patches of all pages byte for byte, and beside them what has none", async () => {
  const pages = [
    [file({ path: "bin", patch: "", no_patch: "binary" }), file({ patch: PATCH.slice(0, 70), patch_continues: true })],
    [file({ patch: PATCH.slice(70) })],
  ];
  const { status, stdout, stderr, sent } = await diff(pages);
  expect([status, stdout, stderr]).toEqual([0, PATCH, "not in the patch: bin: binary, 12 B → 2.0 KiB\n"]);
  expect(sent).toEqual([{ limit: 1_048_576 }, { limit: 1_048_576, cursor: "c1" }]);
});

test("words and flags become the request", async () => {
  const { sent } = await diff([[]], ["ck_1", "published", "--path", "src", "-U", "0", "--stat"]);
  expect(sent).toEqual([{ from: "ck_1", to: "published", prefix: "src", context_lines: 0, summary: true, limit: 1_048_576 }]);
  expect((await diff([[]], ["-U", "many"])).status).toBe(2);
  expect((await diff([[]], ["a", "b", "c"])).status).toBe(2);
});

test("a terminal shows headers, hunks, added and removed lines apart, and nothing that steers it", async () => {
  const { stdout } = await diff([[file({}), file({ path: "b\n", patch: "", no_patch: "too_large" })]], [], true);
  const [bold, cyan, red, green, dim, yellow] = [1, 36, 31, 32, 2, 33].map((on) => {
    const off = on < 30 ? 22 : 39;
    return (text: string) => `\x1b[${on}m${text}\x1b[${off}m`;
  }) as [Paint, Paint, Paint, Paint, Paint, Paint];
  expect(stdout.split("\n")).toEqual([
    bold("diff --git a/a.txt b/a.txt"),
    bold("--- a/a.txt"),
    bold("+++ b/a.txt"),
    cyan("@@ -1,3 +1,3 @@"),
    " one\\x1b[2J",
    red("--- two\\r"),
    green("+++ TWO"),
    " three",
    dim("\\ No newline at end of file"),
    yellow('"b\\n": too large to compare by lines, 12 B → 2.0 KiB'),
    "",
  ]);
  expect((await diff([[file({})]], [], true, { NO_COLOR: "1" })).stdout).toBe(
    PATCH.replace("\x1b", "\\x1b").replace("\r", "\\r"),
  );
});
type Paint = (text: string) => string;

test("--stat sums up, --name-only names, --json gives one page as it came, --limit one page and its cursor", async () => {
  const files = [
    file({ added_lines: "30", removed_lines: "10" }),
    file({
      path: "new name",
      old_path: "old",
      status: "DIFF_STATUS_RENAMED",
      added_lines: "0",
      removed_lines: "0",
      new_executable: true,
    }),
    file({ path: "bin", no_patch: "binary", status: "DIFF_STATUS_ADDED", old_sha256: "", added_lines: "0", removed_lines: "0" }),
  ];
  expect((await diff([files], ["--stat"])).stdout).toBe(
    [
      `a.txt          | 40 ${"+".repeat(30)}${"-".repeat(10)}`,
      "old → new name |  0  renamed +x",
      "bin            | binary, nothing → 2.0 KiB",
      "3 files changed, 30 added, 10 removed",
      "",
    ].join("\n"),
  );
  expect((await diff([[]], ["--stat"])).stdout).toBe("");
  expect((await diff([files, [file({ path: 'q"\n' })]], ["--name-only"])).stdout).toBe('a.txt\nnew name\nbin\n"q\\"\\n"\n');
  const json = await diff([files, files], ["--json"]);
  expect([JSON.parse(json.stdout).next_cursor, json.sent]).toEqual(["c1", [{}]]);
  const one = await diff([[file({ patch: PATCH.slice(0, 70) })], []], ["--limit", "70", "--cursor", "c0"]);
  expect([one.stdout, one.sent]).toEqual([PATCH.slice(0, 70), [{ limit: 70, cursor: "c0" }]]);
  expect(one.stderr).toMatch(/^more: gin diff --limit 70 --endpoint unix:\S+ --cursor c1\n$/);
});
