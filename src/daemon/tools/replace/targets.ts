import { GinError, type Reason } from "../../base/index.ts";
import { compileGlob, type Scope } from "../../search/index.ts";
import { refuseOthers } from "../edit/checksums.ts";
import { type EditTarget, openTarget } from "../edit/target.ts";
import { toolPath } from "../files/path.ts";
import { mayLook } from "../search/scope.ts";
import type { ReadContext } from "../types.ts";

/** Most files of one call, and the largest. */
export const REPLACED_FILES = 50;
const REPLACED_BYTES = 10 * 1024 * 1024;
/** Most bytes of all files of one call. */
export const REPLACED_TOTAL = 100 * 1024 * 1024;

/** A file that is to be looked into: its bytes, or why not. */
export interface Candidate {
  readonly path: string;
  readonly target: EditTarget | undefined;
  readonly error: GinError | undefined;
}

/** Why one file may be left out without that keeping the others from being changed. */
const SKIPPED: ReadonlySet<Reason> = new Set(["PATH_NOT_FOUND", "NOT_A_FILE", "TOO_LARGE", "BINARY_FILE"]);

/**
 * Finds the files that some names mean: files, directories with all below them, globs. Recorded ones only, but for a file by its own name;
 * hidden and made ones are passed over. Throws RESOURCE_LIMIT for more than REPLACED_FILES.
 */
export async function candidates(
  context: ReadContext,
  names: readonly string[],
  include: string | undefined,
  checksums: ReadonlyMap<string, string>,
): Promise<Candidate[]> {
  const wanted = include === "" ? undefined : include;
  // A glob that cannot be read is refused, also where there is nothing it would be asked of.
  if (wanted !== undefined) compileGlob(wanted);
  const found = new Map<string, Candidate>();
  for (const name of names) {
    for (const one of await meant(context, name, wanted)) {
      if (found.has(one.path)) continue;
      if (found.size >= REPLACED_FILES) throw tooMany();
      found.set(one.path, await opened(context, one.path, one.error, checksums.get(one.path)));
    }
  }
  refuseOthers(checksums, found, "names a path that files and include do not mean");
  return [...found.values()];
}

interface Named {
  readonly path: string;
  readonly error: GinError | undefined;
}

async function meant(context: ReadContext, name: string, include: string | undefined): Promise<Named[]> {
  const plain = toolPath(name);
  const both = include === undefined ? [] : [include];
  const kind = await kindOf(context, plain);
  if (typeof kind !== "string") {
    if (kind.reason !== "PATH_NOT_FOUND" || !/[*?[{]/.test(plain)) return [{ path: plain, error: kind }];
    return listed(context, "", [plain, ...both]);
  }
  const path = plain === "" ? "" : context.workspace.canonical(plain);
  if (kind === "directory") {
    // Which of its names is a directory is told to nobody who may touch nothing below it.
    mayLook(context, path);
    return listed(context, path, both);
  }
  // To a file of its own name include is relative to the directory it is in.
  const own = path.slice(path.lastIndexOf("/") + 1);
  return include === undefined || compileGlob(include).matches(own) ? [{ path, error: undefined }] : [];
}

/** What stands at a name, or why nothing can be said. */
async function kindOf({ workspace, authorise }: ReadContext, path: string): Promise<string | GinError> {
  if (path === "") return "directory";
  try {
    return (await workspace.facts(path, { authorise: () => {}, sampleBytes: 0 })).stat.kind;
  } catch (thrown) {
    if (!(thrown instanceof GinError)) throw thrown;
    if (!SKIPPED.has(thrown.reason) && thrown.reason !== "NOT_A_DIRECTORY") throw thrown;
    authorise(path);
    return thrown;
  }
}

/** The recorded files below a directory that every one of some globs matches. Throws RESOURCE_LIMIT for more than one call changes. */
async function listed(context: ReadContext, path: string, include: readonly string[]): Promise<Named[]> {
  const { workspace, caller, search, signal } = context;
  await workspace.settle(signal);
  const where: Scope = { workspace: workspace.rowid, tree: workspace.tree(), path, prefixes: caller.paths, include };
  const { files, total } = await search.files({ where, offset: 0, limit: REPLACED_FILES }, signal);
  // Fewer than there are is none of them: a file that was not named in the answer would be left as it is.
  if (files.length < total) throw tooMany();
  return files.map((one) => ({ path: one, error: undefined }));
}

async function opened(
  context: ReadContext,
  path: string,
  error: GinError | undefined,
  checksum: string | undefined,
): Promise<Candidate> {
  // Of a file that is gone its checksum has to say more than that it was not found.
  if (error !== undefined && checksum === undefined) return { path, target: undefined, error };
  try {
    if (error !== undefined) return { path, target: await openTarget(context, path, checksum), error: undefined };
    const { stat } = await context.workspace.facts(path, { authorise: context.authorise, sampleBytes: 0 });
    if (stat.kind === "file" && stat.size > REPLACED_BYTES) throw tooLarge(path);
    return { path, target: await openTarget(context, path, checksum), error: undefined };
  } catch (thrown) {
    if (thrown instanceof GinError && SKIPPED.has(thrown.reason)) return { path, target: undefined, error: thrown };
    throw thrown;
  }
}

function tooLarge(path: string): GinError {
  return new GinError("TOO_LARGE", `${path} is larger than ${REPLACED_BYTES} bytes`, "edit it by edit_file", {
    facts: { path, limit: REPLACED_BYTES, unit: "bytes" },
  });
}

function tooMany(): GinError {
  return new GinError(
    "RESOURCE_LIMIT",
    `more than ${REPLACED_FILES} files are meant`,
    "narrow files or include; search_files tells where the pattern is",
    {
      facts: { limit: REPLACED_FILES, unit: "files" },
    },
  );
}
