import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { CodeAction, LspAnswer, LspAsk } from "../../../src/daemon/lsp/index.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import { apply, planIn, textsOf } from "../../helpers/lsp/apply.ts";
import { DiskWorkspace, sha } from "../../helpers/lsp/disk-workspace.ts";
import { fakeRow, openRoom, question } from "../../helpers/lsp/room.ts";
import { type FakeLog, within } from "../../helpers/lsp/session.ts";
import { tempDir } from "../../helpers/temp.ts";

const FILES = {
  "a.fake": "\ufeffdef alpha\r\n  alpha 😀 alpha",
  "b.fake": "alpha\n",
  "deep/c.fake": "def gamma\n\talpha # alphabet\n",
};

function site(options: object = {}, row: Partial<ServerSpec> = {}, files: Readonly<Record<string, string>> = FILES) {
  const one = fakeRow(row);
  const { lsp, sessions } = openRoom([one], { [one.id]: options });
  const workspace = new DiskWorkspace(tempDir("edits"), files);
  const ask = (action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): Promise<LspAnswer> =>
    lsp.ask(question(workspace, action, path, over));
  const rename = (newName: string, over: Partial<LspAsk> = {}) =>
    ask("rename", "a.fake", { line: 1, symbol: "alpha", newName, ...over });
  const fake = (method: string, params: unknown = null): Promise<unknown> =>
    sessions.at(-1)?.current?.request(method, params, within()) ?? Promise.reject(new Error("no server runs"));
  /** Has the server, once started, answer a method so. */
  const answers = async (method: string, action: object): Promise<void> => {
    await ask("symbols", Object.keys(files)[0] ?? "");
    await fake("fake/on", { method, action });
  };
  const uri = (path: string): string => pathToFileURL(join(workspace.root, path)).href;
  const onDisk = () =>
    Object.fromEntries(Object.keys(files).map((path) => [path, readFileSync(join(workspace.root, path), "utf8")]));
  return { lsp, workspace, ask, rename, fake, answers, uri, onDisk };
}

const range = (line: number, from: number, to: number) => ({ start: { line, character: from }, end: { line, character: to } });
const signal = () => new AbortController().signal;

describe("a rename", () => {
  it.each(["utf-8", "utf-16", "utf-32"])(
    "is a preview of one save over files that were never opened, counted again after it (%s)",
    async (encoding) => {
      const { rename, onDisk, workspace } = site({ encoding });
      const answer = await rename("beta");
      const plan = planIn(answer);
      expect(answer).toMatchObject({ partial: false, note: "", sha256: sha(FILES["a.fake"]) });
      expect(textsOf(plan)).toEqual({
        "a.fake": "\ufeffdef beta\r\n  beta 😀 beta",
        "b.fake": "beta\n",
        "deep/c.fake": "def gamma\n\tbeta # alphabet\n",
      });
      expect(plan.edits.map(({ path, expect: hash }) => [path, hash])).toEqual(
        Object.entries(FILES).map(([path, text]) => [path, sha(text)]),
      );
      expect(plan.files[0]?.changes).toEqual(
        [
          [1, 5],
          [2, 3],
          [2, 11],
        ].map(([line = 0, character = 0]) => ({
          span: { start: { line, character }, end: { line, character: character + 5 } },
          newText: "beta",
        })),
      );
      expect(onDisk()).toEqual(FILES);
      apply(workspace, plan);
      expect(await plan.verify(signal())).toEqual({ references: { before: 5, after: 5 }, introduced: [], resolved: 0, note: "" });
    },
  );

  it("that leaves uses out says where, and after a save how many bear the new name (serena#1744, cclsp#24)", async () => {
    const { rename, answers, uri, workspace } = site();
    const changes = { [uri("a.fake")]: [{ range: range(0, 4, 9), newText: "undefined_8" }] };
    await answers("textDocument/rename", { do: "answer", result: { changes } });
    const answer = await rename("undefined_8");
    expect(answer).toMatchObject({
      partial: true,
      note: "fake leaves 4 of 5 uses of alpha as they are: a.fake:2, a.fake:2, b.fake:1, deep/c.fake:2",
    });
    apply(workspace, planIn(answer));
    expect(await planIn(answer).verify(signal())).toMatchObject({
      references: { before: 5, after: 1 },
      note: "5 references bore the old name, and 1 bear the new one",
    });
  });

  it("counts a use once though a link gives its file two names, and the server both", async () => {
    const { rename, answers, uri, workspace } = site();
    symlinkSync("deep", join(workspace.root, "alias"));
    const uses = ["deep/c.fake", "alias/c.fake"].map((path) => ({ uri: uri(path), range: range(1, 1, 6) }));
    const own = { uri: uri("a.fake"), range: range(0, 4, 9) };
    await answers("textDocument/references", { do: "answer", result: [own, ...uses] });
    const changes = { [uri("a.fake")]: [{ range: range(0, 4, 9), newText: "beta" }] };
    await answers("textDocument/rename", { do: "answer", result: { changes } });
    expect((await rename("beta")).note).toBe("fake leaves 1 of 2 uses of alpha as they are: deep/c.fake:2");
  });

  it("that comes to nothing is an error, not a success with no files", async () => {
    const { rename, answers, fake } = site();
    await answers("textDocument/rename", { do: "answer", result: null });
    await expect(rename("beta")).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      message: expect.stringMatching(/renames nothing at a\.fake:1/),
    });
    await fake("fake/on", { method: "textDocument/prepareRename", action: { do: "answer", result: null } });
    await expect(rename("beta")).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      message: expect.stringMatching(/nothing at a\.fake:1:5 can be renamed/),
    });
    expect(planIn(await site().rename("alpha")).edits).toEqual([]);
  });

  it("to what is no name is refused before anything is asked", async () => {
    const { rename } = site();
    for (const newName of ["", "  ", "a\nb", "a\u2028b"]) {
      await expect(rename(newName)).rejects.toMatchObject({ reason: "INVALID_REQUEST", facts: { field: "new_name" } });
    }
  });

  it("by a server that knows only what it has opened opens what holds the name first, and says so", async () => {
    const { rename, fake } = site({}, { wholeProject: false }, { ...FILES, "other.fake": "omega\n" });
    const answer = await rename("beta");
    expect(Object.keys(textsOf(planIn(answer)))).toEqual(["a.fake", "b.fake", "deep/c.fake"]);
    expect(answer).toMatchObject({
      partial: false,
      note: "fake does not see the whole project: the 3 files that hold alpha were opened for it",
    });
    const { received } = (await fake("fake/log")) as FakeLog;
    expect(received.filter(({ method }) => method === "textDocument/didOpen")).toHaveLength(3);
  });

  it("makes and moves files in the same save, and is found again where the file went", async () => {
    const { rename, workspace } = site();
    const plan = planIn(await rename("with_resources"));
    const renamed = FILES["a.fake"].replaceAll("alpha", "with_resources");
    expect(textsOf(plan)).toEqual({
      "a.fake → a.fake.renamed": renamed,
      "a.fake.made": "def with_resources\n",
      "b.fake": "with_resources\n",
      "deep/c.fake": "def gamma\n\twith_resources # alphabet\n",
    });
    expect(plan.files.map(({ path, renamedTo, created, before }) => [path, renamedTo, created, before])).toEqual([
      ["a.fake.made", "", true, "absent"],
      ["a.fake", "a.fake.renamed", false, sha(FILES["a.fake"])],
      ["b.fake", "", false, sha(FILES["b.fake"])],
      ["deep/c.fake", "", false, sha(FILES["deep/c.fake"])],
    ]);
    apply(workspace, plan);
    expect(readFileSync(join(workspace.root, "a.fake.renamed"), "utf8")).toBe(renamed);
  });

  it("is worked out for the content that is there, whoever changed it (serena#1593, mcp-language-server#141)", async () => {
    const { rename, workspace } = site();
    await rename("beta");
    workspace.write("a.fake", "x\ny\ndef alpha\n");
    workspace.write("b.fake", "// a line above\n\nalpha\n");
    const plan = planIn(await rename("beta", { line: 3 }));
    expect(textsOf(plan)).toMatchObject({ "a.fake": "x\ny\ndef beta\n", "b.fake": "// a line above\n\nbeta\n" });
    // What changes after that is not overwritten: the save finds another content than the plan expects.
    workspace.write("b.fake", "// mine\n");
    expect(() => apply(workspace, plan)).toThrowError(/b\.fake/);
    expect(readFileSync(join(workspace.root, "a.fake"), "utf8")).toBe("x\ny\ndef alpha\n");
  });

  it("whose server falls silent once it is saved is a save all the same, and says what is not known (serena#1833)", async () => {
    const { rename, workspace, fake, ask } = site();
    const plan = planIn(await rename("beta"));
    apply(workspace, plan);
    await fake("fake/on", { method: "textDocument/references", action: { do: "silence" } });
    const giving = new AbortController();
    const verifying = plan.verify(giving.signal);
    // Nobody queues behind it.
    expect((await ask("hover", "b.fake", { line: 1, symbol: "beta" })).found).toMatchObject({ text: "`def beta`" });
    giving.abort();
    expect(await verifying).toMatchObject({
      introduced: [],
      note: expect.stringMatching(/^references were not counted again: /),
    });
  });
});

describe("an edit of a server", () => {
  it.each([
    ["overlaps", "overlapping", /overlap/],
    ["is about a version that is not ours", "wrong_version", /version 99999 of a\.fake/],
    ["touches what lies outside", "edit_outside", /outside of the workspace \(lib\.fake\)/],
  ])("that %s is refused, and nothing of it is made", async (_name, newName, message) => {
    const { rename, onDisk } = site({ outside: "/usr/lib/fake/lib.fake" });
    const failed = rename(newName);
    await expect(failed).rejects.toMatchObject({ reason: "LSP_REFUSED", message: expect.stringMatching(message) });
    // Where it lies outside is nobody's business.
    await expect(failed).rejects.toMatchObject({ message: expect.not.stringContaining("/usr/") });
    expect(onDisk()).toEqual(FILES);
  });

  it.each<readonly [string, string, object]>([
    ["a protected file", ".env", { reason: "PATH_SENSITIVE" }],
    [
      "an ignored file",
      "node_modules/d.fake",
      { reason: "LSP_REFUSED", message: expect.stringMatching(/node_modules\/d\.fake is an ignored file/) },
    ],
    [
      "a file that is not there",
      "none.fake",
      { reason: "LSP_REFUSED", message: expect.stringMatching(/none\.fake, which is not there/) },
    ],
    [
      "a file that is no text",
      "latin1.fake",
      { reason: "LSP_REFUSED", message: expect.stringMatching(/latin1\.fake, which is no text/) },
    ],
    ["a file the caller may not touch", "deep/c.fake", { reason: "SCOPE_FORBIDDEN" }],
  ])("that touches %s is refused by name", async (_name, path, error) => {
    const { workspace, rename, answers, uri } = site();
    workspace.write("node_modules/d.fake", "alpha\n");
    workspace.write(".env", "alpha\n");
    workspace.write("latin1.fake", Buffer.from([0x61, 0xe9, 0x0a]));
    const changes = { [uri(path)]: [{ range: range(0, 0, 1), newText: "x" }] };
    await answers("textDocument/rename", { do: "answer", result: { changes } });
    const authorise = (asked: string): void => {
      if (asked === "deep/c.fake") throw new GinError("SCOPE_FORBIDDEN", "not yours");
    };
    await expect(rename("beta", { authorise })).rejects.toMatchObject(error);
    expect(readFileSync(join(workspace.root, "latin1.fake"))).toEqual(Buffer.from([0x61, 0xe9, 0x0a]));
  });

  it("may be of several lists about one text, and of documents that are not open (cclsp#10, gopls)", async () => {
    const { rename, answers, uri } = site();
    const documentChanges = [
      { textDocument: { uri: uri("b.fake"), version: 0 }, edits: [{ range: range(0, 0, 1), newText: "A" }] },
      { textDocument: { uri: uri("deep/../b.fake"), version: null }, edits: [{ range: range(0, 4, 5), newText: "A" }] },
    ];
    await answers("textDocument/rename", { do: "answer", result: { documentChanges } });
    expect(textsOf(planIn(await rename("beta")))).toEqual({ "b.fake": "AlphA\n" });
  });

  it("is worked out anew when a file of it changes before it is given", async () => {
    const { rename, workspace } = site();
    await rename("beta");
    let settles = 0;
    workspace.beforeSettle = async () => {
      settles += 1;
      if (settles === 2) workspace.write("b.fake", "!\nalpha\n");
    };
    expect(textsOf(planIn(await rename("beta")))).toMatchObject({ "b.fake": "!\nbeta\n" });
  });
});

describe("formatting", () => {
  it("keeps everything that is not laid out anew", async () => {
    const files = { "a.fake": "\ufeffa  \r\nb\t\rc 😀 \nd" };
    const { ask } = site({}, {}, files);
    const plan = planIn(await ask("format", "a.fake"));
    expect(textsOf(plan)).toEqual({ "a.fake": "\ufeffa\r\nb\rc 😀\nd" });
    expect(plan.title).toBe("format a.fake");
    const tidy = site({}, {}, { "a.fake": "a\n" });
    expect(planIn(await tidy.ask("format", "a.fake")).edits).toEqual([]);
    await expect(ask("format", "a.fake", { line: 1 })).rejects.toMatchObject({ reason: "UNSUPPORTED" });
    await expect(ask("organize_imports", "a.fake")).resolves.toMatchObject({ found: { plan: { edits: [] } } });
  });
});

describe("code actions", () => {
  const FAULTY = { "a.fake": "one undefined_1\n\nundefined_2\n" };
  const actionsIn = ({ found }: LspAnswer): readonly CodeAction[] => {
    if (found.kind !== "code_actions") throw new Error(`found ${found.kind}`);
    return found.actions.items;
  };

  it("are listed with what is wrong there, and why some cannot be applied", async () => {
    const { ask } = site({}, {}, FAULTY);
    const listed = actionsIn(await ask("code_actions", "a.fake", { line: 1 }));
    expect(listed.map(({ id: _id, ...rest }) => rest)).toEqual([
      { title: "Define undefined_1", kind: "quickfix", preferred: true, disabled: "" },
      { title: "Not now", kind: "refactor", preferred: false, disabled: "it is not the time" },
      {
        title: "Run something",
        kind: "source",
        preferred: false,
        disabled: "it runs the server's command fake.run, which may do more than edit",
      },
    ]);
    expect(actionsIn(await ask("code_actions", "a.fake", { only: ["quickfix"] })).map(({ title }) => title)).toEqual([
      "Define undefined_1",
      "Define undefined_2",
    ]);
  });

  it("become a plan by their id, and only of the content they were offered for", async () => {
    const { ask, workspace } = site({}, {}, FAULTY);
    const [define, notNow, run] = actionsIn(await ask("code_actions", "a.fake", { line: 3, character: 2 }));
    const take = (codeAction: string | undefined) => ask("code_actions", "a.fake", { codeAction: codeAction ?? "" });
    const plan = planIn(await take(define?.id));
    expect(textsOf(plan)).toEqual({ "a.fake": `def undefined_2\n${FAULTY["a.fake"]}` });
    expect(plan.title).toBe("Define undefined_2");
    await expect(take(notNow?.id)).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      message: expect.stringMatching(/it is not the time/),
    });
    await expect(take(run?.id)).rejects.toMatchObject({ reason: "UNSUPPORTED", facts: { requested: "fake.run" } });
    await expect(take("la_made_up")).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
    await expect(take(define?.id.replace(/_[0-9a-f]{12}_(?=[\w-]*$)/, "_0123456789ab_"))).rejects.toMatchObject({
      reason: "ID_NOT_FOUND",
    });
    apply(workspace, plan);
    expect(await plan.verify(signal())).toEqual({ introduced: [], resolved: 1, note: "" });
    await expect(take(define?.id)).rejects.toMatchObject({ reason: "STALE_CONTENT", facts: { paths: [{ path: "a.fake" }] } });
  });

  it("are not said to be fine where nobody looked: of files that the server is not for", async () => {
    const { ask, answers, uri, workspace } = site({}, {}, { "a.fake": "a\n", "notes.txt": "n\n" });
    const change = (path: string) => [{ range: range(0, 0, 1), newText: path }];
    const edit = { changes: { [uri("notes.txt")]: change("notes"), [uri("a.fake")]: change("b") } };
    await answers("textDocument/codeAction", { do: "answer", result: [{ title: "Note", kind: "quickfix", edit }] });
    const [note] = actionsIn(await ask("code_actions", "a.fake"));
    const plan = planIn(await ask("code_actions", "a.fake", { codeAction: note?.id ?? "" }));
    apply(workspace, plan);
    const verified = await plan.verify(signal());
    expect(verified).toEqual({
      introduced: [],
      resolved: 0,
      note: "fake is not for notes.txt: diagnostics there were not compared",
    });
  });

  it("that are a command which only edits are taken as a plan when the server wants the edit made", async () => {
    const { ask, answers, fake, uri, onDisk } = site({}, { id: "gopls" }, { "a.fake": "a\n" });
    const command = { title: "Fix", command: "gopls.apply_fix", arguments: [1] };
    await answers("textDocument/codeAction", { do: "answer", result: [{ title: "Fix", kind: "quickfix", command }] });
    const edit = { changes: { [uri("a.fake")]: [{ range: range(0, 0, 1), newText: "b" }] } };
    const params = { label: "fix", edit };
    await fake("fake/on", {
      method: "workspace/executeCommand",
      action: { do: "request", method: "workspace/applyEdit", params },
    });
    const [fix] = actionsIn(await ask("code_actions", "a.fake"));
    expect(fix).toMatchObject({ title: "Fix", disabled: "" });
    const take = () => ask("code_actions", "a.fake", { codeAction: fix?.id ?? "" });
    expect(textsOf(planIn(await take()))).toEqual({ "a.fake": "b\n" });
    expect(onDisk()).toEqual({ "a.fake": "a\n" });
    await fake("fake/on", { method: "workspace/executeCommand", action: { do: "answer", result: null } });
    await expect(take()).rejects.toMatchObject({ reason: "LSP_REFUSED", message: expect.stringMatching(/comes to no edit/) });
  });

  it("of a command that was given up are not taken for those of the next", async () => {
    const files = { "a.py": "import b\n", "b.py": "b\n" };
    const { ask, answers, fake, uri } = site({}, { id: "pyright", languages: { ".py": "python" } }, files);
    await answers("workspace/executeCommand", { do: "silence" });
    await expect(ask("organize_imports", "a.py", { timeoutMs: 500 })).rejects.toMatchObject({ facts: { state: "timed_out" } });
    const edit = { changes: { [uri("a.py")]: [{ range: range(0, 0, 6), newText: "late" }] } };
    const late = { do: "request", method: "workspace/applyEdit", params: { edit } };
    await fake("fake/on", { method: "workspace/executeCommand", action: late });
    await expect(ask("organize_imports", "b.py")).rejects.toMatchObject({
      reason: "LSP_REFUSED",
      message: expect.stringMatching(/an earlier command of it did not end/),
    });
    // What it answers with is of the command that was asked.
    const own = { changes: { [uri("b.py")]: [{ range: range(0, 0, 1), newText: "c" }] } };
    await fake("fake/on", { method: "workspace/executeCommand", action: { do: "answer", result: own } });
    expect(textsOf(planIn(await ask("organize_imports", "b.py")))).toEqual({ "b.py": "c\n" });
  });

  it("name no file that the caller may not touch, whatever else is wrong with them", async () => {
    const { rename } = site();
    const authorise = (path: string): void => {
      if (path === "deep/c.fake") throw new GinError("SCOPE_FORBIDDEN", "not yours");
    };
    await expect(rename("overlapping", { authorise })).rejects.toMatchObject({ message: expect.not.stringContaining("deep") });
  });
});
