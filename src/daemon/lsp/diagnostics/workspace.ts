import { GinError } from "../../base/index.ts";
import { isObject, type Raw } from "../queries/raw.ts";
import { askSeveral } from "../queries/several.ts";
import type { Ground, Needs, Room } from "../queries/types.ts";
import type { Deadline } from "../session/types.ts";
import type { FileDiagnostics, LspAnswer, LspAsk } from "../types.ts";
import { diagnosticsIn } from "./convert.ts";
import { atMost, refusedFile, together, toldOf } from "./files.ts";
import { judge } from "./judge.ts";
import { type PullProvider, pullProviders, reportOf } from "./pull.ts";

/** Open documents of one server that are asked about. */
const MOST_FILES = 500;
const AT_ONCE = 8;

/** Part of the time left that a server may take to report on the whole workspace: some hold the question until something changes. */
const PATIENCE = 0.5;

const NEEDS: Needs = { about: "server", indexing: "refused", across: "changes" };

/**
 * Diagnostics of the workspace: from servers that report on all of it, of others for what they have open, which is partial. Every server that runs is asked, or the one
 * named.
 */
export async function ofWorkspace(room: Room, question: LspAsk, deadline: Deadline): Promise<LspAnswer> {
  const { answers, missing } = await askSeveral(room, question, deadline, NEEDS, (ground) => ofServer(ground));
  const files = answers.flatMap(({ value }) => value).sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  const facts = together(
    answers.map((one) => one.facts),
    missing,
  );
  return { ...facts, found: { kind: "diagnostics", files: { items: files, total: files.length } } };
}

async function ofServer(ground: Ground): Promise<readonly FileDiagnostics[]> {
  const providers = pullProviders(ground.run).filter(({ workspace }) => workspace);
  const whole = providers.length === 0 ? undefined : await reported(ground, providers);
  if (whole !== undefined) return whole;
  const server = ground.leased.spec.id;
  const open = [...ground.mirror.documents().values()].filter(({ path }) => ground.question.visible(path));
  ground.partial(
    open.length === 0
      ? `${server} has no file open and does not report on a whole workspace: name paths, or a checkpoint`
      : `${server} does not report on a whole workspace: these are the ${Math.min(open.length, MOST_FILES)} files it has open; name paths, or a checkpoint, for others`,
  );
  return atMost(AT_ONCE, open.slice(0, MOST_FILES), async ({ path }) => {
    try {
      const document = await ground.mirror.open(path, ground.deadline);
      await ground.text(path);
      const judged = await judge({ mirror: ground.mirror, clock: ground.clock, server }, document, ground.deadline);
      const { text } = document;
      return { path, sha256: text.sha256, server, diagnostics: diagnosticsIn(judged.items, text, ground.encoding) };
    } catch (thrown) {
      if (!(thrown instanceof GinError) || thrown.reason === "CANCELLED") throw thrown;
      return refusedFile(path, thrown);
    }
  });
}

/** What the server reports of the whole workspace; undefined when it does not after all. */
async function reported(ground: Ground, providers: readonly PullProvider[]): Promise<readonly FileDiagnostics[] | undefined> {
  const { mirror, clock, deadline } = ground;
  const now = clock.monotonicMs();
  const patient = { ...deadline, atMs: now + (deadline.atMs - now) * PATIENCE };
  const items: Raw[] = [];
  try {
    for (const { identifier } of providers) {
      const params = { previousResultIds: [], ...(identifier === undefined ? {} : { identifier }) };
      const answer = await mirror.run.request("workspace/diagnostic", params, patient);
      if (!isObject(answer) || !Array.isArray(answer["items"])) return undefined;
      items.push(...answer["items"].filter(isObject));
    }
  } catch (thrown) {
    // It says that it can, and cannot, or waits for something to change: what it has open can be asked about.
    const late = thrown instanceof GinError && thrown.facts["state"] === "timed_out";
    if (thrown instanceof GinError && (thrown.reason === "LSP_REFUSED" || late)) return undefined;
    throw thrown;
  }
  const byUri = new Map<string, unknown[]>();
  const versions = mirror.documents();
  for (const item of items) {
    const { uri, version } = item;
    const told = reportOf(item)?.items;
    if (typeof uri !== "string" || told === undefined) continue;
    const path = mirror.pathOf(uri);
    const ours = path === undefined ? undefined : versions.get(path)?.version;
    if (typeof version === "number" && ours !== undefined && version !== ours) {
      ground.partial(`what was reported of ${path} is of another content`);
      continue;
    }
    byUri.set(uri, [...(byUri.get(uri) ?? []), ...told]);
  }
  const found = await Promise.all([...byUri].map(([uri, told]) => toldOf(ground, uri, told)));
  return found.filter((one) => one !== undefined);
}
