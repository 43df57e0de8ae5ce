import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createMessageConnection, type MessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { plainEnv } from "./daemon.ts";

/** A language server on a pipe with nothing between: what an editor would have. */
export interface AloneServer {
  readonly connection: MessageConnection;
  readonly child: ChildProcess;
  readonly capabilities: Readonly<Record<string, unknown>>;
  uri(path: string): string;
  /** Opens a file as it is on disk. */
  open(path: string, languageId: string): Promise<void>;
  /** Tells an open file's whole text. */
  change(path: string, text: string): Promise<void>;
  stop(): Promise<void>;
}

/** What a client that asks for diagnostics says of itself. */
const CAPABILITIES = {
  workspace: { configuration: true, didChangeWatchedFiles: { dynamicRegistration: true }, workspaceFolders: true },
  textDocument: {
    synchronization: { didSave: true },
    definition: { linkSupport: true },
    references: {},
    diagnostic: { dynamicRegistration: true },
    publishDiagnostics: { versionSupport: true },
  },
  window: { workDoneProgress: true },
  general: { positionEncodings: ["utf-8", "utf-16"] },
};

const children = new Set<ChildProcess>();

process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts one for a directory and initialises it; it is told of no settings. */
export async function startAlone(
  command: readonly string[],
  root: string,
  env: NodeJS.ProcessEnv = plainEnv,
): Promise<AloneServer> {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { cwd: root, env, stdio: ["pipe", "pipe", "ignore"] });
  children.add(child);
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout as NodeJS.ReadableStream),
    new StreamMessageWriter(child.stdin as NodeJS.WritableStream),
  );
  // A server that is ended while it is told something is no failure of the bench.
  connection.onError(() => {});
  connection.onRequest((method, params) => {
    if (method !== "workspace/configuration") return null;
    return (params as { items: readonly unknown[] }).items.map(() => null);
  });
  connection.listen();
  const rootUri = pathToFileURL(root).href;
  const { capabilities } = (await connection.sendRequest("initialize", {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "ws" }],
    capabilities: CAPABILITIES,
  })) as { readonly capabilities: Readonly<Record<string, unknown>> };
  await connection.sendNotification("initialized", {});
  const uri = (path: string): string => pathToFileURL(`${root}/${path}`).href;
  const versions = new Map<string, number>();
  return {
    connection,
    child,
    capabilities,
    uri,
    async open(path, languageId) {
      versions.set(path, 1);
      const text = readFileSync(`${root}/${path}`, "utf8");
      await connection.sendNotification("textDocument/didOpen", {
        textDocument: { uri: uri(path), languageId, version: 1, text },
      });
    },
    async change(path, text) {
      const version = (versions.get(path) ?? 1) + 1;
      versions.set(path, version);
      await connection.sendNotification("textDocument/didChange", {
        textDocument: { uri: uri(path), version },
        contentChanges: [{ text }],
      });
    },
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => {
          children.delete(child);
          resolve();
        });
        connection.dispose();
        child.kill("SIGKILL");
      }),
  };
}
