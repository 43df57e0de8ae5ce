import { describe, expect, test } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { type FakeRun, held, later, mirrorSite, sha } from "./mirror-site.ts";

const uri = (path: string) => `file:///w/tree/${path}`;
const push = (run: FakeRun, version: number | null | undefined, items: unknown[] = ["x"], at = uri("a.ts")) =>
  run.say("textDocument/publishDiagnostics", { uri: at, ...(version === undefined ? {} : { version }), diagnostics: items });

async function opened(beside = false) {
  const site = mirrorSite({ "a.ts": "1", "b.ts": "1" }, { beside });
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

describe("a push of a server that computes in threads beside", () => {
  /** The name that the text is shown by; undefined when it is shown by none but its own. */
  const shownAs = (run: FakeRun) => [...run.documents.keys()].find((one) => one.startsWith(`${uri("a.ts")}#`)) ?? "";
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test("counts only for the name that was given to this very text, with a version or without", async () => {
    const { run, mirror, version, ask, change, pushed } = await opened(true);
    await ask();
    push(run, undefined);
    push(run, version);
    expect(pushed()).toBeUndefined();
    await mirror.nudge("a.ts");
    const first = shownAs(run);
    expect(run.documents.get(first)?.text).toBe("1");
    expect(run.documents.get(uri("a.ts"))).toEqual({ text: "1", version });
    // It is under way already.
    await mirror.nudge("a.ts");
    expect(shownAs(run)).toBe(first);
    await change("a.ts", "2");
    expect(shownAs(run)).toBe("");
    await mirror.nudge("a.ts");
    const second = shownAs(run);
    expect(second).not.toBe(first);
    push(run, undefined, ["old"], first);
    push(run, undefined, ["old"]);
    expect(pushed()).toBeUndefined();
    push(run, undefined, ["new"], second);
    expect(pushed()).toEqual({ version: undefined, items: ["new"], sha256: sha("2"), current: true });
    expect(shownAs(run)).toBe("");
    for (const late of [first, second, uri("a.ts")]) push(run, undefined, ["old"], late);
    expect(pushed()?.items).toEqual(["new"]);
    await change("b.ts", "2");
    expect(pushed()).toMatchObject({ items: ["new"], current: false });
    await mirror.nudge("a.ts");
    await change("b.ts", "3");
    push(run, undefined, ["before b"], shownAs(run));
    expect(pushed()).toMatchObject({ current: false });
    await mirror.nudge("a.ts");
    push(run, undefined, ["after b"], shownAs(run));
    expect(pushed()).toMatchObject({ items: ["after b"], current: true });
  });

  test("that is empty counts once an answer came after it, and no word of a failure with it", async () => {
    const { run, mirror, change, pushed } = await opened(true);
    const empty = async (answer: () => Promise<unknown>) => {
      const hold = held();
      run.answer = () => hold.promise.then(answer);
      await mirror.nudge("a.ts");
      push(run, undefined, [], shownAs(run));
      expect(pushed()).toBeUndefined();
      hold.release();
      await settled();
      expect(shownAs(run)).toBe("");
      return pushed()?.items;
    };
    const refusal = () => Promise.reject(new GinError("LSP_REFUSED", "unknown"));
    const failing = () => {
      run.failures += 1;
      return refusal();
    };
    expect(await empty(failing)).toBeUndefined();
    expect(await empty(() => Promise.reject(new GinError("CANCELLED", "gone")))).toBeUndefined();
    expect(await empty(refusal)).toEqual([]);
    run.failures += 1;
    expect(pushed()?.items).toEqual([]);
    // The text goes while the answer is waited for.
    await change("a.ts", "2");
    const hold = held();
    run.answer = () => hold.promise.then(refusal);
    await mirror.nudge("a.ts");
    push(run, undefined, [], shownAs(run));
    await change("a.ts", "3");
    await change("a.ts", "2");
    hold.release();
    await settled();
    expect(pushed()).toBeUndefined();
  });

  test("of a text that is only tried is gone with it", async () => {
    const { run, mirror, pushed } = await opened(true);
    await mirror.overlaid(new Map([["a.ts", "tried"]]), later(), async () => {
      await mirror.nudge("a.ts");
      push(run, undefined, ["of what is tried"], shownAs(run));
      expect(pushed()).toMatchObject({ items: ["of what is tried"], sha256: sha("tried"), current: true });
      await mirror.nudge("a.ts");
    });
    expect(shownAs(run)).toBe("");
    expect(pushed()).toBeUndefined();
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
    push(run, version, ["x"], "file:///w/%74ree/./a.ts");
    push(run, 1, [], "jdt://x");
    push(run, 1, [], uri("b.ts"));
    expect(heard).toEqual([uri("a.ts"), "jdt://x", uri("b.ts")]);
    expect(pushed()?.items).toEqual(["x"]);
    expect(mirror.pushed("file:/w/tree/a.ts")?.items).toEqual(["x"]);
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
