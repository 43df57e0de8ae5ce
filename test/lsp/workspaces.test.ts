import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LspResponse } from "../../src/gen/gin/v1/lsp_pb.ts";
import { tempDir } from "../helpers/temp.ts";
import { answered, type LspHost, startHost } from "./host.ts";

const MIB = 1024 * 1024;

/** The same paths with other bytes: whose they are can be told by each answer. */
async function site(host: LspHost, name: string, uses: number) {
  const root = join(tempDir(name), "ws");
  const files = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "nodenext", "types": []}, "include": ["src"]}\n',
    "src/home.ts": `export const home = 1;\nexport const bad: string = "${name}".${name}missing;\n`,
    "src/use.ts": `import { home } from "./home.js";\n${"void home;\n".repeat(uses)}`,
    "py/home.py": "def home():\n    return 1\n",
    "py/use.py": `from home import home\n${"home()\n".repeat(uses)}${name}missing\n`,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const workspace = await host.open(root);
  const answer = (question: Parameters<LspHost["ask"]>[0]): Promise<LspResponse> =>
    answered(host, { workspace, timeoutMs: 30_000, ...question });
  return {
    /** Asks both servers, or one, and checks that they speak of this workspace's bytes. */
    async check(server: "typescript" | "pyright"): Promise<void> {
      const [home, use, line, character] =
        server === "typescript" ? (["src/home.ts", "src/use.ts", 1, 14] as const) : (["py/home.py", "py/use.py", 1, 5] as const);
      const { total, locations } = await answer({ action: "references", path: home, line, character, server });
      expect([total, locations.filter(({ path }) => path === use).length]).toEqual([uses + 2, uses + 1]);
      const said = await answer({ action: "diagnostics", path: server === "typescript" ? home : use, server });
      const messages = said.diagnostics.flatMap((file) => file.diagnostics.map(({ message }) => message)).join("\n");
      expect(messages.match(/\w+missing/g)).toEqual([`${name}missing`]);
    },
    async servers(): Promise<readonly string[]> {
      const { servers } = await answer({ action: "status" });
      return servers
        .filter(({ state }) => ["ready", "indexing", "starting"].includes(state))
        .map(({ server, state }) => `${server} ${state}`);
    },
  };
}

describe("two workspaces with other bytes on one host", () => {
  it("are answered of their own, side by side, by servers that stay warm where there is memory", async () => {
    const host = await startHost({ lsp_memory_bytes: 8_192 * MIB });
    const both = await Promise.all([site(host, "one", 2), site(host, "two", 5)]);
    await Promise.all(both.flatMap((one) => [one.check("typescript"), one.check("pyright")]));
    const before = host.servers().map(({ pid }) => pid);
    for (let round = 0; round < 3; round++)
      await Promise.all(both.flatMap((one) => [one.check("typescript"), one.check("pyright")]));
    expect(host.servers().map(({ pid }) => pid)).toEqual(before);
  });

  it("have the servers that were not asked for longest ended where memory is short, and are answered of their own all the same (no peer has a budget: some took 30 GB)", async () => {
    // Less than any server takes: each that is started ends the one before.
    const host = await startHost({ lsp_memory_bytes: 20 * MIB });
    const [one, two] = await Promise.all([site(host, "one", 2), site(host, "two", 5)]);
    await one.check("typescript");
    await two.check("typescript");
    expect([await one.servers(), await two.servers()]).toEqual([[], ["typescript ready"]]);
    await two.check("pyright");
    expect([await one.servers(), await two.servers()]).toEqual([[], ["pyright ready"]]);
    // Both at once: one waits for the other, and neither is answered of what is not its own.
    await Promise.all([one.check("typescript"), two.check("typescript"), one.check("typescript"), two.check("typescript")]);
  });
});
