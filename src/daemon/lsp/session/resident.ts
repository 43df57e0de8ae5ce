import type { Fs } from "../../base/index.ts";

/** Resident bytes by the process id of a group's leader. */
export type ResidentBytes = ReadonlyMap<number, number>;

/** Longer than any stat or status of procfs. */
const MOST_BYTES = 8 * 1024;

/**
 * Resident bytes of process groups together with everything their members started, by the leader's process id; shared pages count in each process that
 * maps them. One look at /proc for all; 0 for a leader that is gone, and for each one where there is no /proc.
 */
export function residentBytes(fs: Fs, leaders: readonly number[]): ResidentBytes {
  const sums = new Map(leaders.map((leader) => [leader, 0]));
  if (leaders.length === 0) return sums;
  const all = processes(fs);
  const owners = new Map<number, number | undefined>();
  /** The leader a process counts for; a process without one counts for its parent's. */
  const ownerOf = (pid: number): number | undefined => {
    if (owners.has(pid)) return owners.get(pid);
    // A parent that is its own child's child is none of the kernel's, but reused numbers between two looks could make it so.
    owners.set(pid, undefined);
    const { parent, group } = all.get(pid) ?? { parent: 0, group: 0 };
    const owner = sums.has(group) ? group : parent === 0 ? undefined : ownerOf(parent);
    owners.set(pid, owner);
    return owner;
  };
  for (const pid of all.keys()) {
    const owner = ownerOf(pid);
    if (owner !== undefined) sums.set(owner, (sums.get(owner) ?? 0) + resident(fs, pid));
  }
  return sums;
}

function processes(fs: Fs): Map<number, { readonly parent: number; readonly group: number }> {
  const found = new Map<number, { parent: number; group: number }>();
  for (const name of entries(fs)) {
    // The name in parentheses may hold blanks and parentheses: fields are counted from its end.
    const stat = read(fs, `/proc/${name}/stat`);
    const [, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (group !== undefined) found.set(Number(name), { parent: Number(parent), group: Number(group) });
  }
  return found;
}

function entries(fs: Fs): string[] {
  try {
    return fs
      .readdirSync("/proc")
      .map((name) => name.toString("latin1"))
      .filter((name) => /^\d+$/.test(name));
  } catch {
    // No procfs: it cannot be told.
    return [];
  }
}

/** From "VmRSS:  1234 kB", which does not depend on the size of a page. A zombie has none. */
function resident(fs: Fs, pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(read(fs, `/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

/** "" for a process that ended meanwhile. */
function read(fs: Fs, path: string): string {
  let fd: number;
  try {
    fd = fs.openSync(path, 0);
  } catch {
    return "";
  }
  try {
    const into = Buffer.alloc(MOST_BYTES);
    return into.toString("latin1", 0, fs.readSync(fd, into, 0, into.byteLength, 0));
  } catch {
    // It ended between the two calls.
    return "";
  } finally {
    fs.closeSync(fd);
  }
}
