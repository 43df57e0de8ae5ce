import { expect, test } from "vitest";
import { systemClock } from "../../../src/daemon/base/index.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { type FakeRun, later, mirrorSite, type Site } from "./mirror-site.ts";

const SCALE = Number(process.env.GIN_TEST_SCALE ?? "1");
const PATHS = ["a.ts", "b.ts", "src/c.ts", "src/d e.ts", "ignored/f.ts", "ignored/g.ts", "h.py", "i.bin"];
const LINES = ["one\n", "two\r\n", "é😀\n", "\r", "\f", "x", "\ufeff", "漢\n", "\u2028"];
const turn = () => new Promise((resolve) => setImmediate(resolve));

function someText(random: Chance): string {
  return Array.from({ length: random.int(6) }, () => random.pick(LINES)).join("");
}

function edit({ workspace }: Site, random: Chance): void {
  const path = random.pick(PATHS);
  if (random.maybe(0.25)) workspace.disk.delete(path);
  else workspace.write(path, path === "i.bin" && random.maybe(0.5) ? "\0" : someText(random));
}

/** The server's texts, by path, without a mark as it is told. */
const believed = (run: FakeRun) =>
  new Map([...run.documents].map(([uri, { text }]) => [decodeURIComponent(uri).slice("file:///w/tree/".length), text]));
const plain = (bytes: Uint8Array | undefined) => bytes?.toString().replace(/^\ufeff/, "");

/** After a sync with nothing else under way the server knows the disk: open documents to the letter, all other recorded files by their events. */
function knowsAll({ workspace, run }: Site): void {
  for (const [path, text] of believed(run)) expect([path, text]).toEqual([path, plain(workspace.disk.get(path))]);
  for (const path of PATHS.filter((name) => !name.startsWith("ignored/"))) {
    if (!believed(run).has(path)) expect([path, run.files.get(path)]).toEqual([path, workspace.disk.get(path)?.toString()]);
  }
}

/** One question, as rooms ask: shared, synced, opened, and what the server holds compared with what the answer would say. */
async function question(site: Site, random: Chance): Promise<void> {
  const { workspace, run, mirror } = site;
  await mirror.shared(later(), async () => {
    const before = new Map(workspace.disk);
    const synced = await mirror.sync(later());
    const path = random.pick(PATHS);
    try {
      const document = await mirror.open(path, later());
      const held = run.documents.get(document.uri);
      expect(held).toEqual({ text: document.text.body, version: document.version });
      // The state is that of the call or a later one.
      if (synced.tree === mirror.told?.tree && [...before].every(([at, bytes]) => workspace.disk.get(at) === bytes)) {
        expect(document.text.text).toBe(workspace.disk.get(path)?.toString());
      }
    } catch (thrown) {
      expect(thrown).toMatchObject({ reason: expect.stringMatching(/^(PATH_NOT_FOUND|BINARY_FILE)$/) });
    }
    if (random.maybe(0.2)) await mirror.trim(new Set([random.pick(PATHS)]));
  });
}

/** Texts tried: seen while the work runs, whatever is edited and synced meanwhile, and however it ends. */
async function trial(site: Site, random: Chance): Promise<void> {
  const { run, mirror } = site;
  const edits = new Map<string, string | null>();
  for (let count = 1 + random.int(3); count > 0; count--)
    edits.set(random.pick(PATHS), random.maybe(0.3) ? null : someText(random));
  const abort = new AbortController();
  const how = random.pick(["done", "thrown", "cancelled", "late"]);
  const looks = () => {
    const now = believed(run);
    for (const [path, text] of edits) expect([path, now.get(path)]).toEqual([path, text?.replace(/^\ufeff/, "")]);
  };
  const deadline = how === "late" ? { atMs: systemClock.monotonicMs() + 30, signal: abort.signal } : later(abort.signal);
  const working = mirror.overlaid(edits, deadline, async (documents) => {
    looks();
    expect([...documents.keys()].sort()).toEqual(
      [...edits]
        .filter(([, text]) => text !== null)
        .map(([path]) => path)
        .sort(),
    );
    if (random.maybe(0.6)) {
      edit(site, random);
      await mirror.sync(later());
      looks();
    }
    if (how === "thrown") throw new Error("thrown");
    if (how === "cancelled") abort.abort();
    if (how !== "done") await new Promise(() => {});
  });
  const refusal = { thrown: { message: "thrown" }, cancelled: { reason: "CANCELLED" }, late: { reason: "NOT_READY" } } as const;
  if (how === "done") await working;
  else await expect(working).rejects.toMatchObject(refusal[how as keyof typeof refusal]);
}

test("whatever happens in whatever order, what the server believes is what the files hold", async () => {
  const random = chance("mirror model");
  for (let round = 0; round < 30 * SCALE; round++) {
    const change = random.pick([0, 1, 2] as const);
    const encoding = random.pick(["utf-8", "utf-16", "utf-32"] as const);
    const watching = random.maybe(0.5);
    const site = mirrorSite({ "a.ts": "1\n", "src/c.ts": "é\n", "h.py": "" }, { limits: { documents: 3, events: 2 } }, (run) => {
      run.capabilities = { textDocumentSync: { openClose: true, change, save: random.maybe(0.5) } };
      run.encoding = encoding;
      if (watching) run.watchers = [{ watchers: [{ globPattern: "**/*.ts" }] }];
    });
    for (let step = 0; step < 25; step++) {
      const many: Promise<void>[] = [];
      for (let count = 1 + random.int(3); count > 0; count--) {
        if (random.maybe(0.7)) edit(site, random);
        many.push(random.maybe(0.25) ? trial(site, random) : question(site, random));
        if (random.maybe(0.3)) await turn();
      }
      await Promise.all(many);
      // From here on every glob is registered: what was left untold before comes now.
      if (watching && step === 20) site.run.watchers.push({ watchers: [{ globPattern: "**" }] });
      await site.mirror.sync(later());
      if (!watching || step >= 20) knowsAll(site);
    }
    expect(site.mirror.opened).toBeLessThanOrEqual(3);
    expect(site.stopped).toEqual([]);
  }
});
