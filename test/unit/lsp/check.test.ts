import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { LspAnswer, LspAsk } from "../../../src/daemon/lsp/index.ts";
import { DiskWorkspace, sha } from "../../helpers/lsp/disk-workspace.ts";
import { fakeRow, openRoom, question } from "../../helpers/lsp/room.ts";
import { within } from "../../helpers/lsp/session.ts";
import { tempDir } from "../../helpers/temp.ts";

const FILES = { "a.fake": "def undefined_1\n", "b.fake": "undefined_1 undefined_2\n", "c.fake": "fine\n" };

function site(options: object = {}, files: Readonly<Record<string, string>> = FILES) {
  const { lsp, sessions } = openRoom([fakeRow()], { fake: options });
  const workspace = new DiskWorkspace(tempDir("check"), files);
  const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, action, path, over));
  const check = (edits: LspAsk["edits"], over: Partial<LspAsk> = {}) => ask("check", "", { edits: edits ?? [], ...over });
  const fake = (method: string, params: unknown = null): Promise<unknown> =>
    sessions.at(-1)?.current?.request(method, params, within()) ?? Promise.reject(new Error("no server runs"));
  const uri = (path: string): string => pathToFileURL(`${workspace.root}/${path}`).href;
  /** What the server believes of a file. */
  const believed = async (path: string) =>
    ((await fake("fake/text", { uri: uri(path) })) as { readonly text: string } | null)?.text ?? null;
  const onDisk = () =>
    Object.fromEntries(Object.keys(files).map((path) => [path, readFileSync(join(workspace.root, path), "utf8")]));
  return { workspace, ask, check, fake, believed, onDisk, uri };
}

function shown({ found }: LspAnswer) {
  if (found.kind !== "check") throw new Error(`found ${found.kind}`);
  const list = (files: typeof found.introduced) =>
    Object.fromEntries(
      files.map(({ path, diagnostics, refused }) => [
        path,
        refused?.reason ?? diagnostics.map(({ span: { start }, message }) => `${start.line}:${start.character} ${message}`),
      ]),
    );
  return { introduced: list(found.introduced), resolved: found.resolved, files: list(found.files.items) };
}

describe.each([
  ["pulls", { diagnostics: "pull" }],
  ["pushes", { diagnostics: "push" }],
  ["pushes without versions", { diagnostics: "push", pushVersion: "none" }],
])("a check of a server that %s", (_name, options) => {
  it("says what edits would bring and mend, in open files that depend on them too, and leaves everything as it was", async () => {
    const { ask, check, believed, onDisk, workspace } = site(options);
    await ask("diagnostics", "b.fake");
    const before = workspace.generation;
    const answer = await check([{ path: "a.fake", text: "\ndef undefined_2 undefined_9\n" }]);
    expect(shown(answer)).toEqual({
      introduced: { "a.fake": ["2:17 undefined_9 is not defined"], "b.fake": ["1:1 undefined_1 is not defined"] },
      resolved: 1,
      files: { "a.fake": ["2:17 undefined_9 is not defined"] },
    });
    expect(answer).toMatchObject({ server: "fake", state: "ready", partial: false, note: "", generation: before });
    expect(onDisk()).toEqual(FILES);
    expect([await believed("a.fake"), await believed("b.fake")]).toEqual([FILES["a.fake"], FILES["b.fake"]]);
    expect(workspace.generation).toBe(before);
    const again = await ask("diagnostics", "b.fake");
    expect(again.found).toMatchObject({ files: { items: [{ diagnostics: [{ message: "undefined_2 is not defined" }] }] } });
  });
});

describe("a check", () => {
  it("tries files that are not there and the absence of those that are, and says that a server may look for itself", async () => {
    const { ask, check, believed } = site();
    await ask("diagnostics", "b.fake");
    const made = await check([{ path: "new.fake", text: "def undefined_2\nundefined_3\n" }]);
    const brought = { "new.fake": ["2:1 undefined_3 is not defined"] };
    expect(shown(made)).toEqual({ introduced: brought, resolved: 1, files: brought });
    expect(made).toMatchObject({ partial: true, note: "new.fake is not on disk: fake may not find that from other files" });
    const gone = await check([{ path: "b.fake", text: null }]);
    expect(shown(gone)).toEqual({ introduced: {}, resolved: 1, files: { "b.fake": [] } });
    expect(gone).toMatchObject({ partial: true, note: "b.fake is still on disk: fake may go on seeing that" });
    expect([await believed("new.fake"), await believed("b.fake")]).toEqual([null, FILES["b.fake"]]);
  });

  it("counts what only moved as neither new nor gone, and what is there twice twice", async () => {
    const { check } = site({}, { "a.fake": "undefined_1\n" });
    const moved = await check([{ path: "a.fake", text: "\n\n  undefined_1\n" }]);
    expect(shown(moved)).toEqual({ introduced: {}, resolved: 0, files: { "a.fake": ["3:3 undefined_1 is not defined"] } });
    expect(moved.found).toMatchObject({ files: { items: [{ sha256: sha("\n\n  undefined_1\n") }] } });
    const twice = await check([{ path: "a.fake", text: "undefined_1 undefined_1\n" }]);
    expect(shown(twice).introduced).toEqual({ "a.fake": ["1:13 undefined_1 is not defined"] });
  });

  it("says of files that no server covers that nothing is known of them", async () => {
    const { check } = site();
    const answer = await check([
      { path: "notes.txt", text: "x" },
      { path: "c.fake", text: "undefined_5\n" },
    ]);
    expect(shown(answer).files).toEqual({ "c.fake": ["1:1 undefined_5 is not defined"], "notes.txt": "not_covered" });
    expect(answer).toMatchObject({ partial: true, note: "nothing is known of 1 edited files: each says why" });
    await expect(check([{ path: "notes.txt", text: "x" }])).rejects.toMatchObject({ reason: "UNSUPPORTED" });
  });

  it("of one path twice, or of nothing, is refused", async () => {
    const { check } = site();
    await expect(check([])).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
    const twice = ["x", "y"].map((text) => ({ path: "a.fake", text }));
    await expect(check(twice)).rejects.toMatchObject({ reason: "INVALID_REQUEST", facts: { path: "a.fake" } });
  });

  it("that a server does not answer is an error, and what was tried is taken back all the same", async () => {
    const { ask, check, fake, believed, onDisk } = site();
    await ask("diagnostics", "a.fake");
    await fake("fake/on", { method: "textDocument/diagnostic", action: { do: "silence" } });
    await expect(check([{ path: "a.fake", text: "undefined_7\n" }], { timeoutMs: 1_000 })).rejects.toMatchObject({
      reason: "NOT_READY",
      facts: { state: "timed_out", server: "fake" },
    });
    await fake("fake/on", { method: "textDocument/diagnostic", action: null });
    expect(await believed("a.fake")).toBe(FILES["a.fake"]);
    expect(onDisk()).toEqual(FILES);
    expect((await ask("diagnostics", "a.fake")).found).toMatchObject({ files: { items: [{ diagnostics: [] }] } });
  });

  it("is begun again when files change between its two looks", async () => {
    const { ask, check, workspace } = site();
    await ask("diagnostics", "b.fake");
    let settles = 0;
    workspace.beforeSettle = async () => {
      settles += 1;
      // The first is before the look as it is, the second behind the look as it would be.
      if (settles === 2) workspace.write("c.fake", "def undefined_2\n");
    };
    const answer = await check([{ path: "a.fake", text: "x\n" }]);
    expect(shown(answer)).toMatchObject({ introduced: { "b.fake": ["1:1 undefined_1 is not defined"] }, resolved: 0 });
    expect(settles).toBe(4);
  });

  it("holds up nobody longer than it takes: questions asked meanwhile are answered of what is on disk", async () => {
    const { ask, check } = site();
    await ask("diagnostics", "b.fake");
    const [checked, asked] = await Promise.all([
      check([{ path: "a.fake", text: "x\n" }]),
      ask("references", "a.fake", { line: 1, symbol: "undefined_1" }),
    ]);
    expect(shown(checked).introduced).toEqual({ "b.fake": ["1:1 undefined_1 is not defined"] });
    expect(asked.found).toMatchObject({ locations: { total: 2 } });
  });

  it.each([
    ["pulls", { diagnostics: "pull" }],
    ["pushes", { diagnostics: "push" }],
  ])("never mixes what is tried with what is there, whoever asks at the same time (a server that %s)", async (_name, options) => {
    const { ask, check, workspace, believed } = site(options, { "a.fake": "undefined_0\n", "b.fake": "b\n" });
    const rounds = 12 * Number(process.env["GIN_TEST_SCALE"] ?? 1);
    // What is on disk moves on with each settle; answers must be of a number that was there while they were worked out.
    let now = 0;
    let over = false;
    workspace.beforeSettle = async () => {
      if (over) return;
      now += 1;
      if (now % 3 === 0) workspace.write("a.fake", `undefined_${now}\n`);
    };
    const names = ({ found }: LspAnswer): string[] => {
      const files = found.kind === "diagnostics" || found.kind === "check" ? found.files.items : [];
      return files.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message.split(" ")[0] ?? ""));
    };
    const ifChanging = (thrown: unknown): undefined => {
      if (thrown instanceof GinError && thrown.facts["state"] === "changing") return undefined;
      throw thrown;
    };
    const asker = async (): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const from = now - 3;
        const answer = await ask("diagnostics", "a.fake").catch(ifChanging);
        const [name = "undefined_-1"] = answer === undefined ? [`undefined_${now}`] : names(answer);
        const number = Number(name.slice("undefined_".length));
        expect(number).toBeGreaterThanOrEqual(from);
        expect(number).toBeLessThanOrEqual(now);
      }
    };
    const checker = async (): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const answer = await check([{ path: "a.fake", text: `undefined_${900_000 + round}\n` }]).catch(ifChanging);
        if (answer !== undefined) expect(names(answer)).toEqual([`undefined_${900_000 + round}`]);
      }
    };
    await Promise.all([asker(), asker(), checker()]);
    over = true;
    await ask("diagnostics", "a.fake");
    expect(await believed("a.fake")).toBe(readFileSync(join(workspace.root, "a.fake"), "utf8"));
  });
});
