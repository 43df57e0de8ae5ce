import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { EditInput, SaveInput, SaveOutcome } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { hashOf } from "../../kernel/workspace/model.ts";
import { openSite, type Site, saveInput } from "../../kernel/workspace/site.ts";

let site: Site;
let root: string;
let ids = 0;

beforeEach(async () => {
  site = await openSite(tempDir("save"));
  root = join(site.directory, "ws");
  atTeardown(() => site.close());
});

const text = (value: string): Uint8Array => Buffer.from(value);
const put = (path: string, value: string): string => {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), value);
  // A file just written may have its writer still at it: those are kept aside for a moment, which has tests of its own.
  utimesSync(join(root, path), 1_700_000_000, 1_700_000_000);
  return hashOf(text(value));
};
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const save = (edits: EditInput[], over: Partial<SaveInput> = {}): Promise<SaveOutcome> =>
  site.workspace.save(saveInput(site, `r${++ids}`, edits, over));
const refused = async (promise: Promise<unknown>): Promise<GinError> => {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GinError)) throw new Error(`not refused with a GinError: ${String(error)}`);
  return error;
};
const causes = (): string[] =>
  site.store.read
    .checkpoints({ workspace: site.workspace.rowid, limit: 100 })
    .map((one) => one.cause)
    .reverse();
const temps = (): string[] => (readdirSync(root, { recursive: true }) as string[]).filter((name) => name.includes(".gin-tmp-"));

describe("what a save does", () => {
  it("makes, replaces and removes files in one checkpoint, directories included", async () => {
    const was = put("a.txt", "one\n");
    const gone = put("old/deep/b.txt", "two\n");
    const outcome = await save([
      { path: "a.txt", expect: was, content: text("ONE\n") },
      { path: "old/deep/b.txt", expect: gone, delete: true },
      { path: "new/deep/c.txt", expect: "absent", content: text("three\n"), executable: true },
    ]);
    expect(read("a.txt")).toBe("ONE\n");
    expect(existsSync(join(root, "old"))).toBe(false);
    expect(read("new/deep/c.txt")).toBe("three\n");
    expect(statSync(join(root, "new/deep/c.txt")).mode & 0o777).toBe(0o755);
    expect(causes()).toEqual(["import", "save"]);
    expect(outcome.state.generation).toBe(2);
    expect(outcome.paths.map((one) => [one.path, one.content?.sha256 ?? null])).toEqual([
      ["a.txt", hashOf(text("ONE\n"))],
      ["old/deep/b.txt", null],
      ["new/deep/c.txt", hashOf(text("three\n"))],
    ]);
    expect(temps()).toEqual([]);
  });

  it("swaps two files, and renames one with a content of its own", async () => {
    const [a, b, c] = [put("a", "A"), put("b", "B"), put("c", "C")];
    chmodSync(join(root, "b"), 0o755);
    await save([
      { path: "a", expect: a, renameTo: "b" },
      { path: "b", expect: b, renameTo: "a" },
      { path: "c", expect: c, renameTo: "d", content: text("D") },
    ]);
    expect([read("a"), read("b"), read("d")]).toEqual(["B", "A", "D"]);
    expect(statSync(join(root, "a")).mode & 0o777).toBe(0o755);
    expect(existsSync(join(root, "c"))).toBe(false);
    const touched = site.store.read.touched(site.workspace.state().head, 0, 10).paths;
    expect(touched.map((one) => [one.path, one.renamedFrom])).toEqual([
      ["a", "b"],
      ["b", "a"],
      ["c", undefined],
      ["d", "c"],
    ]);
  });

  it("keeps the bits of a mode nobody spoke of, and changes the executable bit alone", async () => {
    const was = put("s.sh", "echo\n");
    chmodSync(join(root, "s.sh"), 0o640);
    await save([{ path: "s.sh", expect: was, content: text("echo 2\n") }]);
    expect(statSync(join(root, "s.sh")).mode & 0o777).toBe(0o640);
    await save([{ path: "s.sh", expect: hashOf(text("echo 2\n")), executable: true }]);
    expect(statSync(join(root, "s.sh")).mode & 0o777).toBe(0o750);
    expect(read("s.sh")).toBe("echo 2\n");
  });

  it("writes through a symlink that stays inside and keeps the link; deletes the link itself", async () => {
    const was = put("real.txt", "x");
    symlinkSync("real.txt", join(root, "link.txt"));
    await save([{ path: "link.txt", expect: was, content: text("y") }]);
    expect(lstatSync(join(root, "link.txt")).isSymbolicLink()).toBe(true);
    expect(read("real.txt")).toBe("y");
    await save([{ path: "link.txt", expect: hashOf(text("real.txt")), delete: true }]);
    expect(existsSync(join(root, "link.txt"))).toBe(false);
    expect(read("real.txt")).toBe("y");
    await save([{ path: "l2", expect: "absent", link: "real.txt" }]);
    expect(readlinkSync(join(root, "l2"))).toBe("real.txt");
  });

  it("replaces a hard-linked file without touching the other name's bytes", async () => {
    const was = put("a", "shared");
    const outside = join(site.directory, "outside");
    linkSync(join(root, "a"), outside);
    const inode = statSync(outside).ino;
    await save([{ path: "a", expect: was, content: text("mine") }]);
    expect(readFileSync(outside, "utf8")).toBe("shared");
    expect(statSync(outside).ino).toBe(inode);
    expect(statSync(join(root, "a")).ino).not.toBe(inode);
  });

  it("keeps contents above what the store's table holds, and 10,000 edits at once", async () => {
    const large = Buffer.alloc(3 * 1024 * 1024, "abc");
    await save([{ path: "large.bin", expect: "absent", content: large }]);
    expect(readFileSync(join(root, "large.bin")).equals(large)).toBe(true);
    expect(Buffer.from(site.store.read.object(hashOf(large)) ?? []).equals(large)).toBe(true);
    const edits = Array.from(
      { length: 10_000 },
      (_, index): EditInput => ({ path: `many/f${index}`, expect: "absent", content: text(`n${index}`) }),
    );
    const outcome = await save(edits);
    expect(outcome.paths).toHaveLength(10_000);
    expect(read("many/f9999")).toBe("n9999");
    expect(site.store.read.touched(outcome.checkpoint, 9_999, 10).count).toBe(10_000);
  }, 60_000);

  it("changes nothing when nothing changes, and says so", async () => {
    const was = put("a", "same");
    const first = await save([{ path: "a", expect: was, content: text("same") }]);
    expect(first).toMatchObject({ noChange: true, paths: [{ path: "a", noChange: true, merged: false }] });
    const again = await save([{ path: "a", expect: was, content: text("same") }]);
    expect(again.state).toEqual(first.state);
    expect(site.store.read.request(site.workspace.rowid, "tester", `r${ids}`)?.outcome).toBe("committed");
  });

  it("judges everything and changes nothing in a dry run", async () => {
    const was = put("a", "x");
    const outcome = await save(
      [
        { path: "a", expect: was, content: text("y") },
        { path: "n/b", expect: "absent", content: text("z") },
      ],
      { dryRun: true },
    );
    expect(outcome).toMatchObject({ dryRun: true, noChange: false });
    expect([read("a"), existsSync(join(root, "n")), site.workspace.state().generation]).toEqual(["x", false, 0]);
  });
});

describe("what a save refuses", () => {
  it("leaves every path alone when one is stale, and says what is there, who changed it and what a merge gives", async () => {
    const a = put("a", "1\n2\n3\n");
    const b = put("b", "b");
    await save([{ path: "a", expect: a, content: text("one\n2\n3\n") }], { principal: "agent-7" });
    const error = await refused(
      save([
        { path: "b", expect: b, content: text("B") },
        { path: "a", expect: a, content: text("1\n2\nthree\n") },
      ]),
    );
    expect(error.reason).toBe("STALE_CONTENT");
    expect(error.facts["paths"]).toEqual([
      {
        path: "a",
        current_sha256: hashOf(text("one\n2\n3\n")),
        current_size: "8",
        changed_by: "agent-7",
        checkpoint: expect.stringMatching(/^ck_/),
        merge: "clean",
        merged_sha256: hashOf(text("one\n2\nthree\n")),
        current_text: "one\n2\n3\n",
      },
    ]);
    expect(read("b")).toBe("b");
    expect(temps()).toEqual([]);
  });

  it("merges when asked and every path merges; else it says which lines conflict and changes nothing", async () => {
    const a = put("a", "1\n2\n3\n");
    await save([{ path: "a", expect: a, content: text("one\n2\n3\n") }]);
    const merged = await save([{ path: "a", expect: a, content: text("1\n2\nthree\n") }], { onConflict: "merge" });
    expect(merged.paths[0]).toMatchObject({ merged: true });
    expect(read("a")).toBe("one\n2\nthree\n");
    const error = await refused(save([{ path: "a", expect: a, content: text("uno\n2\n3\n") }], { onConflict: "merge" }));
    expect(error.reason).toBe("MERGE_CONFLICT");
    expect(error.facts["paths"]).toMatchObject([
      { path: "a", merge: "conflict", conflict: "content", hunks: [{ yours: "uno\n", current: "one\n" }] },
    ]);
    expect(read("a")).toBe("one\n2\nthree\n");
  });

  it("says base_unavailable where the bytes behind expect are nowhere", async () => {
    put("a", "now");
    const error = await refused(save([{ path: "a", expect: hashOf(text("never seen")), content: text("mine") }]));
    expect(error.facts["paths"]).toMatchObject([{ merge: "base_unavailable" }]);
  });

  it("no content of another path is the base of a merge, though its bytes are kept", async () => {
    const other = put("other", "1\nsecret\n3\n");
    await save([{ path: "other", expect: other, content: text("gone") }]);
    put("a", "1\n2\n3\n");
    const theft = { path: "a", expect: other, content: text("1\n2\n") };
    for (const onConflict of ["refuse", "merge"] as const) {
      const error = await refused(save([theft], { onConflict }));
      expect(error.facts["paths"]).toMatchObject([{ merge: "base_unavailable" }]);
      expect(JSON.stringify(error.facts)).not.toContain("secret");
    }
  });

  it("keeps long conflicts for Details", async () => {
    put("a", `${"line of text\n".repeat(5_000)}`);
    const error = await refused(save([{ path: "a", expect: "absent", content: text("mine") }]));
    expect(JSON.stringify(error.facts).length).toBeLessThan(26_000);
    const detail = site.store.read.detail(error.detailId as string);
    expect(JSON.parse(Buffer.from(detail?.body ?? []).toString())).toMatchObject({
      path: "a",
      current_text: "line of text\n".repeat(5_000),
    });
  });

  it.each([
    [
      "a path edited twice",
      [
        { path: "a", expect: "absent", content: text("1") },
        { path: "./a", expect: "absent", content: text("2") },
      ],
      ["INVALID_REQUEST", "PATH_INVALID"],
    ],
    ["a directory", [{ path: "dir", expect: "absent", content: text("1") }], ["NOT_A_FILE"]],
    ["below a file", [{ path: "file/x", expect: "absent", content: text("1") }], ["NOT_A_DIRECTORY"]],
    [
      "a file and something below it",
      [
        { path: "n", expect: "absent", content: text("1") },
        { path: "n/x", expect: "absent", content: text("1") },
      ],
      ["NOT_A_DIRECTORY"],
    ],
    ["a protected name", [{ path: ".git/config", expect: "absent", content: text("1") }], ["PATH_SENSITIVE"]],
    ["no expect", [{ path: "n", content: text("1") }], ["INVALID_REQUEST"]],
    ["a rename onto what stays", [{ path: "file", expect: hashOf(text("f")), renameTo: "dir/g" }], ["STALE_CONTENT"]],
    ["a rename of nothing", [{ path: "none", expect: "absent", renameTo: "n" }], ["PATH_NOT_FOUND"]],
  ] as [string, EditInput[], string[]][])("refuses %s", async (_name, edits, reasons) => {
    put("file", "f");
    put("dir/g", "g");
    const error = await refused(save(edits));
    expect(reasons).toContain(error.reason);
    expect([read("file"), read("dir/g"), temps()]).toEqual(["f", "g", []]);
  });

  it("compares incarnation, epoch and generation before anything outside is absorbed", async () => {
    put("a", "1");
    const { state } = await save([{ path: "a", expect: hashOf(text("1")), content: text("2") }]);
    put("a", "outside");
    expect((await refused(save([{ path: "a", expect: "absent", content: text("x") }], { incarnation: "in_other" }))).reason).toBe(
      "STALE_INCARNATION",
    );
    expect((await refused(save([{ path: "a", expect: "absent", content: text("x") }], { epoch: state.epoch + 1 }))).reason).toBe(
      "STALE_EPOCH",
    );
    expect((await refused(save([{ path: "a", content: text("x") }], { generation: state.generation - 1 }))).reason).toBe(
      "STALE_GENERATION",
    );
    expect(site.workspace.state()).toEqual(state);
    // The generation is right, but the bytes are not those of that generation.
    expect((await refused(save([{ path: "a", content: text("x") }], { generation: state.generation }))).reason).toBe(
      "STALE_CONTENT",
    );
    expect(causes()).toEqual(["import", "save", "external"]);
    const ok = await save([{ path: "a", content: text("x") }], { generation: state.generation + 1 });
    expect(ok.state.generation).toBe(state.generation + 2);
  });

  it("is cancelled before its turn and not after", async () => {
    const stop = new AbortController();
    const first = save([{ path: "a", expect: "absent", content: text("1") }]);
    const second = save([{ path: "a", expect: hashOf(text("1")), content: text("2") }], { signal: stop.signal });
    stop.abort();
    expect((await refused(second)).reason).toBe("CANCELLED");
    await first;
    expect(read("a")).toBe("1");
  });

  it("says the root is missing, at once, and makes nothing anew", async () => {
    rmSync(root, { recursive: true });
    expect((await refused(save([{ path: "a", expect: "absent", content: text("1") }]))).reason).toBe("WORKSPACE_MISSING_ROOT");
    expect(existsSync(root)).toBe(false);
    expect(site.workspace.status().status).toBe("missing");
  });
});

describe("what others do to the files", () => {
  it("records an outside change before the save that meets it, and on a read", async () => {
    put("a", "1");
    await save([{ path: "a", expect: hashOf(text("1")), content: text("2") }]);
    put("a", "outside");
    const seen = await site.workspace.readHead("a", { authorise: () => {}, content: true });
    expect(seen).toMatchObject({ kind: "file", content: { sha256: hashOf(text("outside")) }, state: { generation: 3 } });
    rmSync(join(root, "a"));
    expect((await refused(site.workspace.readHead("a", { authorise: () => {}, content: true }))).reason).toBe("PATH_NOT_FOUND");
    expect(causes()).toEqual(["import", "save", "external", "external"]);
  });

  it("lets saves on disjoint paths share a commit, each with a generation of its own", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, index) => save([{ path: `p${index}`, expect: "absent", content: text(`${index}`) }])),
    );
    expect(outcomes.map((one) => one.state.generation).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 16 }, (_, index) => index + 1),
    );
    expect(Array.from({ length: 16 }, (_, index) => read(`p${index}`))).toEqual(
      Array.from({ length: 16 }, (_, index) => `${index}`),
    );
  });

  it("lets exactly one of many saves of one path win, and tells the others", async () => {
    const was = put("a", "start");
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => save([{ path: "a", expect: was, content: text(`won by ${index}`) }])),
    );
    expect(results.filter((one) => one.status === "fulfilled")).toHaveLength(1);
    for (const one of results) if (one.status === "rejected") expect((one.reason as GinError).reason).toBe("STALE_CONTENT");
  });
});
