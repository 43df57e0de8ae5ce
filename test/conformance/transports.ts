import { join } from "node:path";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { toolEnvelope } from "../../src/clients/sdk/index.ts";
import { nodeFs, systemClock, systemRandom } from "../../src/daemon/base/index.ts";
import { startServers } from "../../src/daemon/language-servers.ts";
import type { Lsp } from "../../src/daemon/lsp/index.ts";
import { type ConfinedRoot, createIgnoreRules } from "../../src/daemon/workspace/index.ts";
import { mergeConfig } from "../../src/paths/index.ts";
import { runGin } from "../helpers/gin.ts";
import { silent } from "../helpers/lsp/session.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { startBridge } from "../mcp/bridge.ts";
import { fastDir } from "../unit/api/site.ts";
import { openTools } from "../unit/tools/site.ts";
import type { Step } from "./corpus.ts";

/** A way to call a tool over one workspace: the envelope as `gin tool` prints it. */
export interface Transport {
  readonly root: string;
  call(step: Step): Promise<JsonObject>;
}

/** The machine's own language servers, ended at teardown. */
function realServers(): Lsp {
  const servers = startServers(mergeConfig({}, {}, {}).config, () => [], {
    clock: systemClock,
    random: systemRandom,
    log: silent,
  });
  atTeardown(() => servers.close());
  return servers;
}

/** CallTool over HTTP. `servers`: with language servers, over a workspace that is imported, as they need it. */
export async function overApi(servers = false): Promise<Transport> {
  const directory = fastDir();
  // What is ignored is not recorded, here as in a daemon.
  const around = async (root: ConfinedRoot) => ({ ignore: createIgnoreRules({ root, path: join(directory, "ws"), fs: nodeFs }) });
  const site = await openTools(
    {},
    servers ? { directory, engine: { around, import: true }, lsp: realServers() } : { directory, engine: { around } },
  );
  let calls = 0;
  return {
    root: site.root,
    async call({ tool, args, request_id: id, compress }) {
      calls += 1;
      const answer = await site.call(tool, args, {
        requestId: id ?? `case-${calls}`,
        ...(compress === undefined ? {} : { compress }),
      });
      return toolEnvelope(JSON.parse(JSON.stringify(answer)) as JsonObject);
    },
  };
}

/** `gin tool`, a process a call, with a daemon that runs. */
export function overCli(site: { readonly root: string; readonly host: string }): Transport {
  return {
    root: site.root,
    async call(step) {
      const { code, stdout, stderr } = await runGin(["tool"], { host: site.host, cwd: site.root, input: JSON.stringify(step) });
      const envelope = JSON.parse(stdout) as JsonObject;
      if (stderr !== "" || code !== (envelope.ok === true ? 0 : 1)) throw new Error(`ended with ${code}: ${stderr}`);
      return envelope;
    },
  };
}

/** The MCP profile `tools`, all calls through one bridge. */
export async function overMcp(site: { readonly root: string; readonly host: string }): Promise<Transport> {
  const bridge = startBridge(["--host", site.host, "--root", site.root, "--profile", "tools"]);
  await bridge.initialize();
  return {
    root: site.root,
    async call({ tool, args, request_id: id }) {
      const answer = await bridge.ask("tools/call", {
        name: tool,
        arguments: id === undefined ? args : { ...args, request_id: id },
      });
      const envelope = answer.result?.structuredContent;
      if (envelope === undefined) throw new Error(`no envelope: ${JSON.stringify(answer)}`);
      return envelope as JsonObject;
    },
  };
}
