import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { repo } from "../repo.ts";

/** PATH of a daemon that is to find the servers npm installs for tests, then those of the machine. */
export const serverPath = [join(repo, "node_modules", ".bin"), ...(process.env.PATH ?? "").split(delimiter)].join(delimiter);

/** How to get what npm does not bring. */
const INSTALL: Readonly<Record<string, string>> = {
  clangd: "apt install clangd",
  pylsp: "apt install python3-pylsp",
  gopls: "go install golang.org/x/tools/gopls@latest",
  shellcheck: "apt install shellcheck",
};

/** Directories where `go install` puts programs that are in no PATH. */
const GO_BIN = [process.env.GOBIN, join(process.env.GOPATH ?? join(process.env.HOME ?? "/", "go"), "bin")];

/** PATH with what `go install` made behind it. */
export const wholePath = [serverPath, ...GO_BIN.filter((one) => one !== undefined)].join(delimiter);

/** Why a program, or what is at an absolute path, is not there; undefined when it is. */
export function missing(program: string): string | undefined {
  if (program.startsWith("/")) return existsSync(program) ? undefined : `${program} is not installed`;
  const there = wholePath.split(delimiter).some((directory) => {
    const path = join(directory, program);
    return existsSync(path) && statSync(path).isFile();
  });
  return there ? undefined : `${program} is not installed (${INSTALL[program] ?? "npm ci"})`;
}

/** Processes whose environment holds NAME=value: servers are handed TMPDIR, so that a daemon's own can be told by its value. */
export function processesWith(name: string, value: string): { readonly pid: number; readonly command: string }[] {
  const wanted = `${name}=${value}`;
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(wanted)) return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        // One that has ended and is not waited for yet holds nothing.
        return command === "" ? [] : [{ pid: Number(pid), command }];
      } catch {
        return [];
      }
    });
}
