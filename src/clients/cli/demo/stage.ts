import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DaemonMetadata, locateHost, readMetadata } from "../../../paths/index.ts";
import { type JsonObject, openSession, type Session } from "../../sdk/index.ts";
import type { Output } from "../output.ts";
import { maybeAlive, until, verifiedAlive } from "../process.ts";
import { readable } from "./json.ts";
import { PROJECT } from "./project.ts";

/** Milliseconds the demo's own daemon may take to end. */
const END_MS = 20_000;

/** A step went otherwise than it was told. */
export class NotAsTold extends Error {
  constructor(fact: string) {
    super(`not as told: ${fact}`);
    this.name = "NotAsTold";
  }
}

/** What the story needs: somebody to ask and somewhere to say how it went. */
export interface Stage {
  /** Tells a step, sends the request as `who`, and shows both messages; engine errors are answers too. */
  ask(who: string, step: string, request: JsonObject): Promise<JsonObject>;
  /** Says what the last answer showed; throws NotAsTold when it did not. */
  holds(fact: string, isSo: boolean): void;
}

/** A stage with a daemon, a host and a directory of its own, all of which `close` takes away again. */
export interface OwnStage extends Stage {
  /** The temporary copy of the project. */
  readonly root: string;
  close(): Promise<void>;
}

/** Sets up a copy of the project in a temporary directory, with a daemon that only it uses. */
export async function openStage(out: Output): Promise<OwnStage> {
  // The daemon that is started here is nobody's but the demo's: no setting of the person's own reaches it.
  for (const name of Object.keys(process.env)) if (name.startsWith("GIN_")) delete process.env[name];
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "gin-demo-")));
  const [root, host] = [join(dir, "shop"), join(dir, "host")] as const;
  mkdirSync(root);
  mkdirSync(host, { mode: 0o700 });
  for (const [path, text] of Object.entries(PROJECT)) writeFileSync(join(root, path), text);
  const sessions = new Map<string, Session>();
  const session = (principal: string): Session => {
    const known = sessions.get(principal) ?? openSession({ host, data: join(host, "data"), principal, client: "gin-demo" });
    sessions.set(principal, known);
    return known;
  };
  const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  /** When the process leaves in the middle (Ctrl-C, a reader that left): nothing can be waited for any more. */
  const abandon = (): void => {
    const daemon = readMetadata(locateHost({ host }).metadata);
    if (daemon !== undefined && verifiedAlive(daemon)) process.kill(daemon.pid, "SIGKILL");
    if (daemon !== undefined) rmSync(daemon.socket, { force: true });
    remove();
  };
  process.once("exit", abandon);
  const close = async (): Promise<void> => {
    const daemon = readMetadata(locateHost({ host }).metadata);
    for (const open of sessions.values()) open.close();
    if (daemon !== undefined) await endOf(daemon, host);
    process.removeListener("exit", abandon);
    remove();
  };
  try {
    await session("owner").admin("OpenWorkspace", { root, name: "shop" });
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { root, close, ...tellingStage(out, (who, request) => session(who).call(request)) };
}

/** Shows steps on `out` as they go; `send` sends. */
export function tellingStage(out: Output, send: (who: string, request: JsonObject) => Promise<JsonObject>): Stage {
  let steps = 0;
  return {
    async ask(who, step, request) {
      steps += 1;
      out.line();
      out.line(out.style("bold", `${steps}. ${step}`));
      out.line(`${out.style("dim", `${who} →`)} ${readable(request, out)}`);
      const answer = await send(who, request);
      out.line(`${out.style("dim", "gin ←")} ${readable(answer, out)}`);
      return answer;
    },
    holds(fact, isSo) {
      out.line(isSo ? `${out.style("green", "✓")} ${fact}` : `${out.style("red", "✗")} ${fact}`);
      if (!isSo) throw new NotAsTold(fact);
    },
  };
}

/** Asks the daemon to leave and waits for its end. */
async function endOf(daemon: DaemonMetadata, host: string): Promise<void> {
  const session = openSession({ host, data: join(host, "data"), principal: "owner", client: "gin-demo", noSpawn: true });
  try {
    await session.admin("Shutdown", { drain_ms: "1000" });
  } catch {
    // It does not answer: gone already, or on its way. Its process decides.
  } finally {
    session.close();
  }
  if (!(await until(() => !maybeAlive(daemon), END_MS)) && verifiedAlive(daemon)) process.kill(daemon.pid, "SIGKILL");
}
