import { GinError } from "../../base/index.ts";
import { isObject, type Raw } from "../queries/raw.ts";
import { askSeveral } from "../queries/several.ts";
import type { Ground, Needs, Room } from "../queries/types.ts";
import type { Deadline } from "../session/types.ts";
import { languageOf } from "../table/servers.ts";
import type { FileDiagnostics, LspAnswer, LspAsk } from "../types.ts";
import { diagnosticsIn } from "./convert.ts";
import { atMost, refusedFile, together, toldOf } from "./files.ts";
import { judge } from "./judge.ts";
import { type PullProvider, pullProviders, reportOf } from "./pull.ts";

/** Open and changed files of one server that are asked about. */
const MOST_FILES = 500;
const AT_ONCE = 8;

/** Part of the time left that a server may take to report on the whole workspace: some hold the question until something changes. */
const PATIENCE = 0.5;

const NEEDS: Needs = { about: "server", indexing: "refused", across: "changes" };

/**
 * Diagnostics of the workspace: from servers that report on all of it, of others for what is open or changed, which is partial. Every server that runs is asked, or the one
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
  const { paths, more } = openAndChanged(ground);
  ground.partial(
    paths.length === 0
      ? `${server} does not report on a whole workspace, and none of its files is open or changed: name paths, or a checkpoint`
      : `${server} does not report on a whole workspace: these are the ${paths.length} files that are open or changed; name paths, or a checkpoint, for others`,
  );
  if (more > 0) ground.partial(`${more} more changed files were not looked at`);
  return atMost(AT_ONCE, paths, async (path) => {
    try {
      const document = await ground.mirror.open(path, ground.deadline);
      await ground.text(path);
      const judged = await judge({ mirror: ground.mirror, clock: ground.clock, server }, document, ground.deadline);
      const { text } = document;
      return {
        path,
        sha256: text.sha256,
        server,
        diagnostics: diagnosticsIn(judged.items, text, ground.encoding, ground.question.workspace.root),
      };
    } catch (thrown) {
      if (!(thrown instanceof GinError) || thrown.reason === "CANCELLED") throw thrown;
      return refusedFile(path, thrown);
    }
  });
}

/** Files of the server that it has open, then those that differ from the base, as many as are asked about. */
function openAndChanged(ground: Ground): { readonly paths: readonly string[]; readonly more: number } {
  const { workspace, visible } = ground.question;
  const paths = new Set([...ground.mirror.documents().keys()].filter(visible).slice(0, MOST_FILES));
  const base = workspace.base?.();
  let more = 0;
  if (base !== undefined) {
    for (const { path, after } of workspace.changes(base, ground.synced.tree)) {
      if (after?.kind !== "file" || paths.has(path) || languageOf(ground.leased.spec, path) === undefined || !visible(path))
        continue;
      if (paths.size < MOST_FILES) paths.add(path);
      else more += 1;
    }
  }
  return { paths: [...paths], more };
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
      const what = path !== undefined && ground.question.visible(path) ? path : "a file that you may not see";
      ground.partial(`what was reported of ${what} is of another content`);
      continue;
    }
    byUri.set(uri, [...(byUri.get(uri) ?? []), ...told]);
  }
  const found = await Promise.all([...byUri].map(([uri, told]) => toldOf(ground, uri, told)));
  return found.filter((one) => one !== undefined);
}
