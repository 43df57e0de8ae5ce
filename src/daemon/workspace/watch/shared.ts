import type { Fs } from "../../base/index.ts";

/** Numbers of file systems that others than this kernel write to: NFS, SMB, CIFS, 9p, FUSE, Ceph, AFS, Lustre, VirtualBox. */
const SHARED = new Set([0x6969, 0xfe534d42, 0xff534d42, 0x01021997, 0x65735546, 0x00c36400, 0x5346414f, 0x0bd00bd0, 0x786f4256]);

/** Whether others may write to a path's file system without this system hearing of it. */
export function isShared(fs: Fs, path: string): boolean {
  try {
    return SHARED.has(fs.fsTypeSync(path));
  } catch {
    // A root that is gone tells of nothing either.
    return true;
  }
}
