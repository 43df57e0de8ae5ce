import type { Hosted, OpenInput } from "./api/index.ts";
import { GinError, type Random } from "./base/index.ts";

/** Names of a workspace to be made. */
export interface NewNames {
  readonly name: string;
  /** "rp_…". */
  readonly repository: string;
  readonly repositoryName: string;
}

/**
 * Names a new workspace: as asked for, else after its directory, with a number when another has that name; and its repository, which
 * is the one asked for or a new one. Throws INVALID_REQUEST for a name that is taken, WORKSPACE_NOT_FOUND for an unknown repository.
 */
export function nameNew(
  asked: Pick<OpenInput, "name" | "repository">,
  directory: string,
  known: readonly Hosted[],
  random: Random,
): NewNames {
  const name = freeName(asked.name, directory === "" ? "root" : directory, new Set(known.map((hosted) => hosted.name)));
  if (asked.repository === undefined) return { name, repository: random.id("rp"), repositoryName: name };
  const joined = known.find((hosted) => hosted.repository === asked.repository || hosted.repositoryName === asked.repository);
  if (joined !== undefined) return { name, repository: joined.repository, repositoryName: joined.repositoryName };
  throw new GinError("WORKSPACE_NOT_FOUND", "no such repository", "leave repository out to make a new one");
}

function freeName(asked: string | undefined, base: string, taken: ReadonlySet<string>): string {
  if (asked !== undefined) {
    if (!taken.has(asked)) return asked;
    throw new GinError("INVALID_REQUEST", "another workspace has this name", "choose another name", { facts: { field: "name" } });
  }
  for (let at = 1; ; at++) {
    const name = at === 1 ? base : `${base}-${at}`;
    if (!taken.has(name)) return name;
  }
}
