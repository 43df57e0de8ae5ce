import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { DaemonOptions, ReadyLine } from "../../../src/paths/index.ts";
import { isBuilt } from "../../helpers/gin.ts";
import { ended, type Owned, spawnOwned } from "../../helpers/process.ts";
import { repo } from "../../helpers/repo.ts";
import { tempDir } from "../../helpers/temp.ts";

/** The daemon from its sources: slow to start, but needs no build. */
export const fromSource: readonly string[] = ["--import", "tsx", join(repo, "src/daemon/main.ts")];

/** The daemon's program: the bundle that `npm test` builds first; from sources where there is none. */
export const program: readonly string[] = isBuilt("daemon") ? [join(repo, "dist", "daemon.mjs")] : fromSource;

/** A daemon process that was started, ready or not. */
export interface Started {
  readonly child: Owned;
  readonly stderr: () => string;
  /** The ready line; rejects with what stderr holds when the process ends first. */
  readonly ready: Promise<ReadyLine>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** What `run` takes beside the daemon's own options. */
export interface Around {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Arguments of node before the options. Default: `program`. */
  readonly entry?: readonly string[];
}

/** Starts a daemon with options as the CLI would write them. TCP is off unless the settings say otherwise. */
export function run(options: Partial<DaemonOptions>, around: Around = {}): Started {
  const json = JSON.stringify({ ...options, settings: { listen: "none", ...options.settings } });
  const child = spawnOwned(process.execPath, [...(around.entry ?? program), json], {
    cwd: repo,
    env: { GIN_HOST: undefined, GIN_DATA: undefined, ...around.env },
  });
  child.stdin.end();
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const end = ended(child);
  const ready = new Promise<ReadyLine>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line)));
    child.once("close", (code, signal) => reject(new Error(`the daemon ended (${signal ?? code}):\n${stderr}`)));
  });
  // A test that expects the end does not ask for the ready line.
  ready.catch(() => {});
  return { child, stderr: () => stderr, ready, ended: end };
}

/** The end of a daemon that must not get ready: its status and what it told the person. */
export async function refusal(
  options: Partial<DaemonOptions>,
  around: Around = {},
): Promise<{ code: number | null; said: string }> {
  const started = run(options, around);
  const outcome = await Promise.race([started.ready.then((): "ready" => "ready"), started.ended]);
  if (outcome === "ready") throw new Error("the daemon got ready");
  return { code: outcome.code, said: started.stderr() };
}

/** An answer of the daemon. */
export interface Answer {
  readonly status: number;
  /** The message, or Connect's error body. */
  readonly body: Record<string, unknown>;
  /** Reason of the ErrorDetail; "" on success. */
  readonly reason: string;
}

/** Posts one message as Connect JSON: to the socket, or to the endpoint with a token. `name` is "GinService/Save". */
export function post(
  to: { readonly socket: string } | { readonly endpoint: string; readonly token: string },
  name: string,
  message: object,
): Promise<Answer> {
  const body = JSON.stringify(message);
  const where = "socket" in to ? { socketPath: to.socket, host: "localhost" } : urlOf(to.endpoint);
  const auth = "token" in to ? { authorization: `Bearer ${to.token}` } : {};
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...where,
        method: "POST",
        path: `/gin.v1.${name}`,
        agent: false,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...auth },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => {
          const parsed: Record<string, unknown> = JSON.parse(text);
          resolve({ status: response.statusCode ?? 0, body: parsed, reason: reasonOf(parsed) });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

function urlOf(endpoint: string): { readonly hostname: string; readonly port: string } {
  const { hostname, port } = new URL(endpoint);
  return { hostname, port };
}

function reasonOf(body: Record<string, unknown>): string {
  const details = body.details;
  if (!Array.isArray(details)) return "";
  const [first] = details as { debug?: { reason?: string } }[];
  return first?.debug?.reason ?? "(no reason)";
}

/** TCP address and token of a ready line. */
export function tcp(ready: ReadyLine): { readonly endpoint: string; readonly token: string } {
  return { endpoint: ready.endpoint, token: readFileSync(ready.token_file, "utf8").trim() };
}

/** A short private runtime directory, so that sockets of a test are its own. */
export function runtime(): { readonly XDG_RUNTIME_DIR: string } {
  return { XDG_RUNTIME_DIR: tempDir("run") };
}
