import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { startServers } from "../../src/daemon/language-servers.ts";
import { mergeConfig } from "../../src/paths/index.ts";
import { DiskWorkspace } from "../helpers/lsp/disk-workspace.ts";
import { question } from "../helpers/lsp/room.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

it("names that the owner protects are not read outside of a workspace either", async () => {
  const library = tempDir("library");
  writeFileSync(join(library, "private_keys.ts"), "export const open = 1;\n");
  const workspace = new DiskWorkspace(tempDir("protected"), {
    "a.ts": `import { open } from "${library}/private_keys";\nexport const used = open;\n`,
  });
  const viewed = async (sensitive: readonly string[]) => {
    const ports = { clock: systemClock, random: systemRandom, log: silent };
    const servers = startServers(mergeConfig({ sensitive }, {}, {}).config, () => [workspace.root], ports);
    atTeardown(() => servers.close());
    const at = { line: 2, symbol: "open", timeoutMs: 60_000 };
    const { found } = await servers.ask(question(workspace, "definition", "a.ts", at));
    const [one] = found.kind === "locations" ? found.locations.items : [];
    return [one?.outside, one?.excerpt, one?.view !== ""];
  };
  expect(await viewed([])).toEqual([true, "export const open = 1;", true]);
  expect(await viewed(["private_*"])).toEqual([true, "", false]);
});
