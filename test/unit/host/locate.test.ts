import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  ensurePrivateDirectory,
  hostDirectory,
  locateHost,
  PathsError,
  SOCKET_PATH_MAX,
  verifyPrivateDirectory,
} from "../../../src/paths/index.ts";
import { tempDir } from "../../helpers/temp.ts";

const short = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

function fault(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof PathsError) return thrown.fault;
    throw thrown;
  }
  return "none";
}

describe("the host directory", () => {
  it("is the flag's, else GIN_HOST, else under XDG_STATE_HOME, else under the home", () => {
    const at = tempDir("locate");
    const env = { GIN_HOST: join(at, "b"), XDG_STATE_HOME: join(at, "c"), HOME: join(at, "d") };
    expect(hostDirectory(join(at, "a"), env)).toBe(join(at, "a"));
    expect(hostDirectory(undefined, env)).toBe(join(at, "b"));
    expect(hostDirectory(undefined, { ...env, GIN_HOST: "" })).toBe(join(at, "c", "gin"));
    expect(hostDirectory(undefined, { HOME: env.HOME, XDG_STATE_HOME: "relative" })).toBe(
      join(at, "d", ".local", "state", "gin"),
    );
  });

  it("has one socket whatever the spelling, also before it exists", () => {
    const at = tempDir("locate");
    mkdirSync(join(at, "real"));
    symlinkSync(join(at, "real"), join(at, "link"));
    const env = { XDG_RUNTIME_DIR: at };
    const wanted = join(at, "gin", `${short(join(at, "real", "host"))}.sock`);
    expect(locateHost({ host: join(at, "link", "host") }, env).socket).toBe(wanted);
    mkdirSync(join(at, "real", "host"));
    expect(locateHost({ host: join(at, "link", "host") }, env).socket).toBe(wanted);
    expect(locateHost({ host: join(at, "real", "x", "..", "host") }, env).socket).toBe(wanted);
  });

  it("keeps the socket short under long homes and long runtime directories", () => {
    const at = tempDir("locate");
    const long = join(at, "x".repeat(200), "y".repeat(200));
    mkdirSync(long, { recursive: true, mode: 0o700 });
    for (const env of [{ HOME: long }, { HOME: long, XDG_RUNTIME_DIR: long }]) {
      const { socket } = locateHost({}, env);
      expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(SOCKET_PATH_MAX);
      expect(socket.startsWith(long)).toBe(false);
    }
  });

  it("does not use a runtime directory that is no directory", () => {
    const at = tempDir("locate");
    writeFileSync(join(at, "file"), "");
    for (const bad of ["relative", join(at, "file"), join(at, "none")]) {
      expect(locateHost({ host: at }, { XDG_RUNTIME_DIR: bad }).socketDirectory.startsWith(bad)).toBe(false);
    }
  });

  it("moves only the store with --data", () => {
    const at = tempDir("locate");
    const paths = locateHost({ host: join(at, "h"), data: join(at, "d") }, {});
    expect([paths.data, paths.dataLock, paths.lock, paths.config]).toEqual([
      join(at, "d"),
      join(at, "d", "lock.db"),
      join(at, "h", "lock.db"),
      join(at, "h", "config.json"),
    ]);
    expect(locateHost({ host: join(at, "h") }, {}).data).toBe(join(at, "h", "data"));
    expect(locateHost({ host: join(at, "h") }, { GIN_DATA: join(at, "e") }).data).toBe(join(at, "e"));
  });
});

describe("a private directory", () => {
  it("is made 0700 and accepted", () => {
    const at = tempDir("private");
    ensurePrivateDirectory(join(at, "a", "b"));
    verifyPrivateDirectory(join(at, "a"));
    verifyPrivateDirectory(join(at, "a", "b"));
  });

  it("is refused when others may enter, when it is a link, a file, or absent", () => {
    const at = tempDir("private");
    mkdirSync(join(at, "open"));
    chmodSync(join(at, "open"), 0o750);
    mkdirSync(join(at, "target"), { mode: 0o700 });
    symlinkSync(join(at, "target"), join(at, "link"));
    writeFileSync(join(at, "file"), "");
    expect(fault(() => ensurePrivateDirectory(join(at, "open")))).toBe("not_private");
    expect(fault(() => ensurePrivateDirectory(join(at, "link")))).toBe("not_private");
    expect(fault(() => ensurePrivateDirectory(join(at, "file")))).toBe("unusable");
    expect(fault(() => ensurePrivateDirectory(join(at, "file", "below")))).toBe("unusable");
    expect(fault(() => verifyPrivateDirectory(join(at, "none")))).toBe("unusable");
  });
});
