import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { identify, type OpenRoot, refuseOwnState, relate, rootChanged } from "../../../src/daemon/host/index.ts";
import { tempDir } from "../../helpers/temp.ts";

function reason(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof GinError) return thrown.reason;
    throw thrown;
  }
  return "";
}

function open(path: string): OpenRoot {
  return { ...identify(path), workspace: `ws of ${path}` };
}

describe("a root", () => {
  it("is the same directory through any spelling", () => {
    const at = tempDir("roots");
    mkdirSync(join(at, "a"));
    symlinkSync(join(at, "a"), join(at, "l"));
    expect(identify(join(at, "l"))).toEqual(identify(join(at, "a")));
    expect(relate(identify(join(at, "l")), [open(join(at, "a"))])?.how).toBe("same");
  });

  it("is found inside and around an open one, also through links, and apart from a namesake", () => {
    const at = tempDir("roots");
    for (const name of ["a/b/c", "ab"]) mkdirSync(join(at, name), { recursive: true });
    symlinkSync(join(at, "a", "b", "c"), join(at, "into"));
    const b = open(join(at, "a", "b"));
    expect(relate(identify(join(at, "into")), [b])?.how).toBe("inside");
    expect(relate(identify(join(at, "a")), [b])?.how).toBe("around");
    expect(relate(identify(at), [b])).toEqual({ how: "around", of: b });
    expect(relate(identify(join(at, "ab")), [open(join(at, "a"))])).toBeUndefined();
  });

  it("may neither hold gin's own state nor lie in it", () => {
    const at = tempDir("roots");
    for (const name of ["root/deep", "host/data"]) mkdirSync(join(at, name), { recursive: true });
    const own = [join(at, "host"), join(at, "root", "deep", "later")];
    expect(reason(() => refuseOwnState(identify(at), own))).toBe("ROOT_OVERLAPS");
    expect(reason(() => refuseOwnState(identify(join(at, "host", "data")), own))).toBe("ROOT_OVERLAPS");
    expect(reason(() => refuseOwnState(identify(join(at, "root")), [join(at, "host")]))).toBe("");
  });

  it("holds state that does not exist yet all the same", () => {
    const at = tempDir("roots");
    mkdirSync(join(at, "root"));
    expect(reason(() => refuseOwnState(identify(join(at, "root")), [join(at, "root", "not", "yet")]))).toBe("ROOT_OVERLAPS");
  });

  it("is refused when it is relative, absent or no directory", () => {
    const at = tempDir("roots");
    writeFileSync(join(at, "file"), "");
    expect(reason(() => identify("relative"))).toBe("INVALID_REQUEST");
    expect(reason(() => identify(join(at, "none")))).toBe("WORKSPACE_MISSING_ROOT");
    expect(reason(() => identify(join(at, "file", "x")))).toBe("WORKSPACE_MISSING_ROOT");
    expect(reason(() => identify(join(at, "file")))).toBe("NOT_A_DIRECTORY");
  });

  it("is known to be gone, or replaced", () => {
    const at = tempDir("roots");
    mkdirSync(join(at, "a"));
    const recorded = identify(join(at, "a"));
    expect(rootChanged(recorded)).toBe("");
    renameSync(join(at, "a"), join(at, "old"));
    expect(rootChanged(recorded)).toBe("the directory is gone");
    mkdirSync(join(at, "a"));
    expect(rootChanged(recorded)).toBe("the directory was replaced by another");
    rmSync(join(at, "a"), { recursive: true });
    writeFileSync(join(at, "a"), "");
    expect(rootChanged(recorded)).toBe("the directory was replaced by something else");
  });
});
