import { errnoOf, type Fs, type Random } from "../../base/index.ts";
import type { Swap } from "./exchange.ts";
import type { Folding } from "./ground.ts";
import { type Handles, type Held, lstatIfThere, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } from "./handles.ts";
import { tempName } from "./temps.ts";

/** What a root's file system was found to do. */
export interface Probed {
  readonly folding: Folding;
  readonly swap: Swap | undefined;
}

/** Answers of a directory nothing can be made in. */
const UNWRITABLE = new Set(["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT"]);

/**
 * Finds out with two temps in the root, gone again when it returns, whether the file system folds names and exchanges files.
 * Where nothing can be written it is taken to fold, which costs listings but refuses every twin. Directories below that fold
 * while the root does not (ext4 lets one choose) are not seen.
 */
export function probe(fs: Fs, random: Random, handles: Handles, top: Held, swap: Swap | undefined): Probed {
  const plain = `${tempName(random)}-a`;
  const one = `${plain}\u00e9`;
  const two = tempName(random);
  const made: string[] = [];
  const make = (name: string): void => {
    fs.closeSync(fs.openSync(handles.at(top, name) as string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
    made.push(name);
  };
  const there = (name: string): boolean => lstatIfThere(fs, handles.at(top, name)) !== undefined;
  try {
    make(one);
    const folding = { letters: there(one.toUpperCase().replace("\u00c9", "\u00e9")), form: there(`${plain}e\u0301`) };
    if (swap === undefined) return { folding, swap };
    make(two);
    const works = swap.exchange(top.fd, one, top.fd, two) === "done" && swap.noReplace(top.fd, one, top.fd, two) === "exists";
    return { folding, swap: works ? swap : undefined };
  } catch (thrown) {
    if (!UNWRITABLE.has(errnoOf(thrown) ?? "")) throw thrown;
    return { folding: { letters: true, form: true }, swap };
  } finally {
    for (const name of made) fs.unlinkSync(handles.at(top, name));
  }
}
