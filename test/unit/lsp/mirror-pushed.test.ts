import { describe, expect, test } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { type FakeRun, held, later, mirrorSite, sha } from "./mirror-site.ts";

const uri = (path: string) => `file:///w/root/${path}`;
const push = (run: FakeRun, version: number | null | undefined, items: unknown[] = ["x"], at = uri("a.ts")) =>
  run.say("textDocument/publishDiagnostics", { uri: at, ...(version === undefined ? {} : { version }), diagnostics: items });

async function opened() {
  const site = mirrorSite({ "a.ts": "1", "b.ts": "1" });
  const { version } = await site.mirror.open("a.ts", later());
  const ask = () => site.mirror.run.request("textDocument/documentSymbol", {}, later());
  const change = async (path: string, text: string) => {
    site.workspace.write(path, text);
    await site.mirror.sync(later());
  };
  return { ...site, version, ask, change, pushed: () => site.mirror.pushed(uri("a.ts")) };
}

describe("a push with a version", () => {
  test("counts for the content that version had, and for no other", async () => {
    const { run, version, change, pushed } = await opened();
    expect(pushed()).toBeUndefined();
    push(run, version);
    expect(pushed()).toEqual({ version, items: ["x"], sha256: sha("1"), current: true });
    await change("a.ts", "2");
    expect(pushed()).toBeUndefined();
    push(run, version, ["late"]);
    push(run, version + 7, ["wrong"]);
    expect(pushed()).toBeUndefined();
    push(run, version + 1, []);
    push(run, version, ["late"]);
    expect(pushed()).toEqual({ version: version + 1, items: [], sha256: sha("2"), current: true });
  });

  test("an old one never counts again, though the text is as it was", async () => {
    const { run, mirror, version, change, pushed } = await opened();
    push(run, version);
    await mirror.overlaid(new Map([["a.ts", "tried"]]), later(), async (documents) => {
      const tried = documents.get("a.ts")?.version ?? 0;
      expect(pushed()).toBeUndefined();
      push(run, tried, ["of what is tried"]);
      expect(pushed()).toEqual({ version: tried, items: ["of what is tried"], sha256: sha("tried"), current: true });
    });
    expect(pushed()).toBeUndefined();
    await change("a.ts", "2");
    await change("a.ts", "1");
    push(run, version);
    expect(pushed()).toBeUndefined();
  });

  test("is not current when another file changed since, until the server has shown that it took that", async () => {
    const { run, mirror, version, ask, change, pushed } = await opened();
    push(run, version);
    await change("b.ts", "2");
    expect(pushed()).toMatchObject({ items: ["x"], current: false });
    push(run, version, ["y"]);
    expect(pushed()).toMatchObject({ items: ["y"], current: false });
    await ask();
    expect(pushed()).toMatchObject({ current: false });
    push(run, version, ["z"]);
    expect(pushed()).toMatchObject({ items: ["z"], current: true });
    // Opening a file as it is changes nothing.
    await mirror.open("b.ts", later());
    expect(pushed()).toMatchObject({ current: true });
  });
});

describe("a push without a version", () => {
  test("counts only after an answer to a question that was asked after the change", async () => {
    const { run, ask, change, pushed } = await opened();
    push(run, undefined);
    expect(pushed()).toBeUndefined();
    await ask();
    // What came before the answer stays what it was: perhaps about another text.
    expect(pushed()).toBeUndefined();
    push(run, null, ["y"]);
    expect(pushed()).toEqual({ version: undefined, items: ["y"], sha256: sha("1"), current: true });
    await change("a.ts", "2");
    push(run, undefined);
    expect(pushed()).toBeUndefined();
    await ask();
    push(run, undefined, []);
    expect(pushed()).toEqual({ version: undefined, items: [], sha256: sha("2"), current: true });
  });

  test("a question asked before the change and answered after it proves nothing", async () => {
    const { run, ask, change, pushed } = await opened();
    const hold = held();
    run.answer = () => hold.promise;
    const early = ask();
    await change("a.ts", "2");
    hold.release();
    await early;
    push(run, undefined);
    expect(pushed()).toBeUndefined();
  });

  test("a refusal of the server is an answer; silence and an end are none", async () => {
    const counts = async (error: GinError) => {
      const { run, ask, pushed } = await opened();
      run.answer = () => Promise.reject(error);
      await expect(ask()).rejects.toBe(error);
      push(run, undefined);
      return pushed() !== undefined;
    };
    const state = (name: string) => new GinError("NOT_READY", "no answer", undefined, { facts: { state: name } });
    expect(await counts(new GinError("LSP_REFUSED", "no"))).toBe(true);
    expect(await counts(state("changing"))).toBe(true);
    expect(await counts(state("timed_out"))).toBe(false);
    expect(await counts(state("crashed"))).toBe(false);
    expect(await counts(new GinError("CANCELLED", "gone"))).toBe(false);
  });
});

describe("a nudge", () => {
  test("tells the text again as a new version; pushes of either count, and an unversioned one that came too early comes again", async () => {
    const { run, mirror, version, ask, change, pushed } = await opened();
    push(run, version, ["first"]);
    await change("b.ts", "2");
    expect(pushed()).toMatchObject({ items: ["first"], current: false });
    await mirror.nudge("a.ts");
    expect(run.documents.get(uri("a.ts"))).toEqual({ text: "1", version: version + 1 });
    expect(pushed()).toMatchObject({ items: ["first"], current: false });
    push(run, version, ["late"]);
    expect(pushed()).toMatchObject({ items: ["late"], current: false });
    push(run, version + 1, ["second"]);
    expect(pushed()).toEqual({ version: version + 1, items: ["second"], sha256: sha("1"), current: true });
    await change("a.ts", "2");
    push(run, undefined, ["early"]);
    await ask();
    expect(pushed()).toBeUndefined();
    await mirror.nudge("a.ts");
    push(run, undefined, ["again"]);
    expect(pushed()).toEqual({ version: undefined, items: ["again"], sha256: sha("2"), current: true });
    // The next change starts from what the server has.
    await change("a.ts", "23");
    expect(run.documents.get(uri("a.ts"))?.text).toBe("23");
  });

  test("is nothing for what is not open", async () => {
    const { run, mirror } = await opened();
    run.sent.length = 0;
    await mirror.nudge("b.ts");
    expect(run.sent).toEqual([]);
  });
});

describe("pushes", () => {
  test("the file is known by its URI, however it is written; everyone hears of each", async () => {
    const { run, mirror, version, pushed } = await opened();
    const heard: string[] = [];
    const unhear = mirror.onPushed((at) => heard.push(at));
    push(run, version, ["x"], "file:///w/%72oot/./a.ts");
    push(run, 1, [], "jdt://x");
    push(run, 1, [], uri("b.ts"));
    expect(heard).toEqual([uri("a.ts"), "jdt://x", uri("b.ts")]);
    expect(pushed()?.items).toEqual(["x"]);
    expect(mirror.pushed("file:/w/root/a.ts")?.items).toEqual(["x"]);
    unhear();
    push(run, version);
    expect(heard).toHaveLength(3);
  });

  test("of a file that is not open nothing is known, nor of one that was closed", async () => {
    const { run, mirror, workspace, version, pushed } = await opened();
    push(run, version);
    push(run, version, [], uri("b.ts"));
    await mirror.open("b.ts", later());
    expect(mirror.pushed(uri("b.ts"))).toBeUndefined();
    workspace.disk.delete("a.ts");
    await mirror.sync(later());
    push(run, version);
    expect(pushed()).toBeUndefined();
  });

  test("what is no push is passed over", async () => {
    const { run, pushed } = await opened();
    for (const params of [
      null,
      7,
      {},
      { uri: uri("a.ts") },
      { uri: 3, diagnostics: [] },
      { uri: uri("a.ts"), version: 1, diagnostics: {} },
    ]) {
      run.say("textDocument/publishDiagnostics", params);
    }
    expect(pushed()).toBeUndefined();
  });
});
