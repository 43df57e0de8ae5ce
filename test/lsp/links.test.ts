import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, vi } from "vitest";
import { systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { startServers } from "../../src/daemon/language-servers.ts";
import { mergeConfig } from "../../src/paths/index.ts";
import { missing, wholePath } from "../helpers/lsp/servers.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { openApi } from "../unit/api/site.ts";

const SUBJECTS = {
  typescript: {
    "tsconfig.json":
      '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "allowImportingTsExtensions": true, "noEmit": true}}\n',
    "src/real.ts": "export const thing = 1;\n",
    "src/use.ts": 'import { thing as other } from "./real.ts";\nexport const used = other;\n',
  },
  pyright: { "src/real.py": "thing = 1\n", "src/use.py": "from real import thing as other\nused = other\n" },
};

it.for(Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[])(
  "references and renames are whole though a link makes %s know the directory by another name",
  async (server, ctx) => {
    const lacks = server === "pyright" ? missing("pyright-langserver") : undefined;
    if (lacks !== undefined) return ctx.skip(lacks);
    const path = process.env.PATH;
    process.env.PATH = wholePath;
    const ports = { clock: systemClock, random: systemRandom, log: silent };
    const servers = startServers(mergeConfig({}, {}, {}).config, () => [], ports);
    atTeardown(() => {
      process.env.PATH = path;
      return servers.close();
    });
    const site = await openApi({ lsp: servers, engine: { import: true } });
    for (const [file, text] of Object.entries(SUBJECTS[server])) {
      mkdirSync(dirname(join(site.root, file)), { recursive: true });
      writeFileSync(join(site.root, file), text);
    }
    // Before the directory itself in the order of names.
    symlinkSync("src", join(site.root, "alias"));
    // Refused until the first import has ended.
    await vi.waitFor(() => site.workspace.sync(), { timeout: 30_000, interval: 20 });
    const real = Object.keys(SUBJECTS[server]).find((file) => file.includes("real")) ?? "";
    const use = real.replace("real", "use");
    const about = { path: real, line: 1, symbol: "thing", timeout_ms: 60_000 };
    const { body: found } = await site.call("Lsp", { ...about, action: "references" });
    expect(new Set(found.locations.map((one: { path: string }) => one.path))).toEqual(new Set([real, use]));
    const { body: renamed } = await site.call("Lsp", { ...about, action: "rename", new_name: "it" });
    expect(renamed.files.map((one: { path: string }) => one.path)).toEqual([real, use]);
    const { body: aliased } = await site.call("Lsp", { ...about, path: real.replace("src", "alias"), action: "references" });
    expect(aliased.locations).toEqual(found.locations);
  },
);
