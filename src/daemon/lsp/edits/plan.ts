import type { GinError } from "../../base/index.ts";
import type { Ground } from "../queries/types.ts";
import { notReady } from "../session/failures.ts";
import type { EditPlan } from "../types.ts";
import { Draft, type Drafted, type DraftFiles } from "./draft.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { refusedEdit } from "./refused.ts";
import type { Replacement } from "./splice.ts";
import { type Before, verifier } from "./verify.ts";

/** What a plan is made from beside its steps. */
export interface Planned {
  readonly title: string;
  /** Of a rename: what is counted again after it was saved. */
  readonly before?: (drafted: Drafted) => Before | undefined;
  /** What the server had been told when it was asked. */
  readonly told: Told;
}

/** What a server was asked on. */
export interface Told {
  readonly tree: string;
  /** Of open documents, by path. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What the server has been told now: to be taken before it is asked, as versions it names are of that. */
export function toldNow({ mirror, synced }: Ground): Told {
  const versions = [...mirror.documents()].map(([path, { version }]) => [path, version] as const);
  return { tree: mirror.told?.tree ?? synced.tree, versions: new Map(versions) };
}

/**
 * A WorkspaceEdit as one save would make it. Throws LSP_REFUSED, with nothing applied, for one that cannot be made exactly; PATH_SENSITIVE and SCOPE_FORBIDDEN for files that may
 * not be touched; NOT_READY "changing" when it is about documents that moved on.
 */
export async function planOf(ground: Ground, edit: unknown, planned: Planned): Promise<EditPlan> {
  const refuse = (message: string, path?: string): GinError => refusedEdit(ground.leased.spec.id, message, path);
  return planSteps(ground, operationsOf(edit, refuse), planned);
}

/** The same of steps. */
export async function planSteps(ground: Ground, steps: readonly Operation[], planned: Planned): Promise<EditPlan> {
  const { leased, encoding } = ground;
  const refuse = (message: string, path?: string): GinError => refusedEdit(leased.spec.id, message, path);
  const draft = new Draft(draftFiles(ground), encoding, refuse);
  // Changes of texts between two other steps are all about the texts as they were at the first.
  let texts = new Map<string, Named[]>();
  const flush = async (): Promise<void> => {
    const waiting = texts;
    texts = new Map();
    for (const [path, named] of waiting) await draft.edit(path, once(named));
  };
  for (const step of steps) {
    const path = pathOf(ground, step.uri);
    if (step.kind === "edit") {
      checkVersion(ground, path, step.version, planned.told);
      texts.set(path, [...(texts.get(path) ?? []), { uri: step.uri, replacements: step.replacements }]);
      continue;
    }
    await flush();
    if (step.kind === "create") await draft.create(path, step);
    else if (step.kind === "rename") await draft.rename(path, pathOf(ground, step.to), step);
    else await draft.delete(path, step);
  }
  await flush();
  const drafted = draft.done();
  const { edits, files, notes } = drafted;
  for (const note of notes) ground.note(note);
  for (const { path, renamedTo } of files) {
    ground.question.authorise(path);
    if (renamedTo !== "") ground.question.authorise(renamedTo);
  }
  return { title: planned.title, edits, files, verify: await verifier(ground, files, planned.before?.(drafted)) };
}

/** What is to be replaced in a file, by one of its names. */
interface Named {
  readonly uri: string;
  readonly replacements: readonly Replacement[];
}

/** A server that knows a file by several names (links lead to it) says the same of each: that is made once. */
function once(named: readonly Named[]): readonly Replacement[] {
  const first = new Map<string, string>();
  return named.flatMap(({ uri, replacements }) =>
    replacements.filter((one) => {
      const key = JSON.stringify(one);
      const by = first.get(key) ?? uri;
      first.set(key, by);
      return by === uri;
    }),
  );
}

function draftFiles({ question: { workspace }, mirror, synced, ...ground }: Ground): DraftFiles {
  const tree = (): string => mirror.told?.tree ?? synced.tree;
  return {
    hashAt: (path) => workspace.hashAt(tree(), path),
    *below(directory) {
      for (const path of workspace.files(tree(), directory)) if (path.startsWith(`${directory}/`)) yield path;
    },
    text: (path) => ground.text(path),
    ignored: async (path) => (await mirror.text(path)) !== undefined,
  };
}

/** The path of a file that may be edited. What is outside is named by its last name: where it is, is nobody's business. */
function pathOf({ mirror, leased, question: { workspace, authorise } }: Ground, uri: string): string {
  const path = mirror.pathOf(uri);
  if (path === undefined) {
    const name = /[^/\\]*$/.exec(uri.replace(/[/\\]+$/, ""))?.[0] ?? "";
    throw refusedEdit(leased.spec.id, `it touches a file outside of the workspace (${decoded(name)})`);
  }
  // Throws for protected names. What may not be touched is not named in any other refusal either.
  const canonical = workspace.canonical(path);
  authorise(canonical);
  return canonical;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Servers name 0 for files that are not open. What changed since is looked at by whoever asks: the text must still be the one that was told. */
function checkVersion({ mirror, leased }: Ground, path: string, version: number | null, told: Told): void {
  if (version === null) return;
  const open = mirror.documents().get(path);
  const ours = [told.versions.get(path), open?.version, ...(open === undefined ? [0] : [])];
  if (ours.includes(version)) return;
  if (open !== undefined && version < open.version && mirror.told?.tree !== told.tree) {
    throw notReady(leased.spec.id, "changing", `${path} changed while it worked`, 100);
  }
  throw refusedEdit(leased.spec.id, `it is about version ${version} of ${path}, which is not the one it was told`, path);
}
