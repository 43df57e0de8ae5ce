import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { vi } from "vitest";
import { createClient, EngineError, type GinClient } from "../../src/clients/sdk/index.ts";
import type { LspRequestSchema, LspResponse } from "../../src/gen/gin/v1/lsp_pb.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { processesWith, wholePath } from "../helpers/lsp/servers.ts";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** A question. */
export type Question = Exclude<MessageInitShape<typeof LspRequestSchema>, { $typeName: string }>;

/** What came of one: an answer, or the reason it was refused for. */
export type Reply =
  | { readonly answer: LspResponse; readonly refused?: never }
  | {
      readonly refused: string;
      readonly state: string;
      readonly message: string;
      readonly retryAfterMs: number;
      readonly answer?: never;
    };

/** A daemon that finds the servers, and what runs below it. */
export interface LspHost {
  readonly daemon: TestDaemon;
  readonly gin: GinClient;
  /** Another client of the same daemon. */
  client(name: string): Promise<GinClient>;
  /** Serves a directory as a workspace and gives its id once it is imported. */
  open(root: string): Promise<string>;
  ask(question: Question): Promise<Reply>;
  /** Every process of the daemon's servers, also one that got away from it. */
  servers(): readonly { readonly pid: number; readonly command: string }[];
}

/** Starts one with its own host directory; ended at teardown. */
export async function startHost(config: Readonly<Record<string, unknown>> = {}): Promise<LspHost> {
  const dir = tempDir("lsp");
  const [host, tmp, root] = [join(dir, "host"), join(dir, "tmp"), join(dir, "empty")];
  for (const made of [host, tmp, root]) mkdirSync(made, { mode: 0o700 });
  writeFileSync(join(host, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const daemon = await startDaemon({
    host,
    root,
    args: ["--listen", "none", "--log-level", "warn"],
    env: { PATH: wholePath, TMPDIR: realpathSync(tmp) },
  });
  atTeardown(() => daemon.kill());
  const connect = (client: string) => createClient({ target: { socketPath: daemon.ready.socket }, client, timeoutMs: 300_000 });
  const gin = await connect("tests");
  return {
    daemon,
    gin,
    client: connect,
    async open(root) {
      const { info } = await gin.admin.openWorkspace({ root });
      const workspace = info?.id ?? "";
      await imported(gin, workspace);
      return workspace;
    },
    ask: (question) => replied(gin, question),
    servers: () => processesWith("TMPDIR", realpathSync(tmp)).filter(({ pid }) => pid !== daemon.child.pid),
  };
}

/** Asks as a client. Only what the engine refuses is a reply; anything else throws. */
export async function replied(gin: GinClient, question: Question): Promise<Reply> {
  try {
    return { answer: await gin.lsp(question) };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const { reason, message, facts, retryAfterMs } = error.detail;
    return { refused: reason, state: typeof facts["state"] === "string" ? facts["state"] : "", message, retryAfterMs };
  }
}

/** Resolves once the first look at the tree has ended. */
async function imported(gin: GinClient, workspace: string): Promise<void> {
  const isDone = async () => (await gin.context({ workspace, sections: ["import"] })).import?.done === true;
  await vi.waitUntil(isDone, { timeout: 120_000, interval: 20 });
}

/** The answer of a question, asked again as long as the server is not ready. */
export async function answered(host: Pick<LspHost, "ask">, question: Question): Promise<LspResponse> {
  for (;;) {
    const reply = await host.ask(question);
    if (reply.answer !== undefined) return reply.answer;
    if (reply.refused !== "NOT_READY") throw new Error(`${question.action} ${question.path}: ${reply.refused}: ${reply.message}`);
    await wait(reply.retryAfterMs);
  }
}
