import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ginBin, runGin } from "../helpers/gin.ts";
import { repo } from "../helpers/repo.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** A person's machine as a coding agent sees it: a project, a home, and `gin` on the PATH. */
export interface Project {
  /** Holds a.txt ("hello\n"). */
  readonly root: string;
  readonly home: string;
  /** The default host of that home. */
  readonly host: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a file of the home or the project, with its folders. */
  write(at: "home" | "root", path: string, text: string): void;
  /** What every `gin` of this machine was sent on standard input. */
  wire(): string;
}

/** Makes one; its daemon is stopped at teardown. */
export function startProject(): Project {
  const dir = tempDir("project");
  const at = (...names: string[]): string => join(dir, ...names);
  for (const name of ["root", "home", "bin"]) mkdirSync(at(name), { mode: 0o700 });
  writeFileSync(at("root", "a.txt"), "hello\n");
  writeFileSync(at("wire"), "");
  const gin = `#!/bin/sh\ntee -a '${at("wire")}' | '${process.execPath}' '${ginBin}' "$@"\n`;
  writeFileSync(at("bin", "gin"), gin);
  chmodSync(at("bin", "gin"), 0o755);
  const host = at("home", ".local", "state", "gin");
  const unset = Object.keys(process.env).filter((name) => /^(XDG|GIN|CODEX|GEMINI|OPENCODE)_/.test(name));
  const env = {
    ...Object.fromEntries(unset.map((name) => [name, undefined])),
    HOME: at("home"),
    PATH: at("bin") + delimiter + (process.env.PATH ?? ""),
    CLAUDE_PROJECT_DIR: undefined,
  };
  atTeardown(async () => {
    await runGin(["stop"], { host, env });
  });
  return {
    root: at("root"),
    home: at("home"),
    host,
    env,
    write: (where, path, text) => {
      mkdirSync(join(at(where), path, ".."), { recursive: true });
      writeFileSync(join(at(where), path), text);
    },
    wire: () => readFileSync(at("wire"), "utf8"),
  };
}

/** The snippet of docs/mcp.md below the paragraph that begins with `host` in bold. */
export function snippet(host: string): string {
  const text = readFileSync(join(repo, "docs", "mcp.md"), "utf8");
  const from = text.indexOf(`\n**${host}**`);
  const [, found] = /```(?:json|toml)\n([\s\S]*?)```/.exec(from < 0 ? "" : text.slice(from)) ?? [];
  if (found === undefined) throw new Error(`docs/mcp.md shows nothing for ${host}`);
  return found;
}
