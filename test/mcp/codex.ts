import { createInterface } from "node:readline";
import { isObject, type JsonObject } from "../../src/clients/sdk/index.ts";
import { spawnOwned } from "../helpers/process.ts";
import type { Project } from "./project.ts";

/** Codex's own app-server, which calls MCP tools without a model. */
export interface Codex {
  /** Sends one request and gives its result; rejects with its error. */
  ask(method: string, params: JsonObject): Promise<JsonObject>;
  /** Calls a tool of the server gin in a thread of its own. */
  call(tool: string, args: JsonObject): Promise<JsonObject>;
}

/** Starts `codex app-server` in a project whose configuration is written, and opens a thread. */
export async function startCodex(program: string, project: Project, flags: readonly string[] = []): Promise<Codex> {
  const child = spawnOwned(program, ["app-server", ...flags], { cwd: project.root, env: project.env });
  let aside = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    aside += text;
  });
  const waiting = new Map<number, { resolve: (result: JsonObject) => void; reject: (error: Error) => void }>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line) as { id?: number; method?: string; result?: JsonObject; error?: JsonObject };
    const asked = message.id === undefined || message.method !== undefined ? undefined : waiting.get(message.id);
    if (message.error !== undefined) asked?.reject(new Error(JSON.stringify(message.error)));
    else asked?.resolve(message.result ?? {});
  });
  child.once("close", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`codex ended with ${code}:\n${aside}`));
  });
  let id = 0;
  const ask = (method: string, params: JsonObject): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      id += 1;
      waiting.set(id, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  await ask("initialize", { clientInfo: { name: "test", version: "1" } });
  child.stdin.write(`${JSON.stringify({ method: "initialized" })}\n`);
  const { thread } = await ask("thread/start", { cwd: project.root, ephemeral: true });
  const threadId = isObject(thread) ? (thread.id ?? "") : "";
  return { ask, call: (tool, args) => ask("mcpServer/tool/call", { threadId, server: "gin", tool, arguments: args }) };
}
