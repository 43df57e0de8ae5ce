import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import { join } from "node:path";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempDir } from "../../helpers/temp.ts";
import { sha } from "./patient.ts";

/** What a proxy does wrong. */
export type Fault = "stale read" | "lost update" | "early acknowledgement";

/** One read or save in this many goes wrong; every save that would be refused is a chance to lose an update. */
const EVERY = 8;

interface Save {
  request_id: string;
  generation?: string;
  on_conflict?: string;
  edits: [{ path: string; expect?: string; text: string }];
}
type Call = { read_path?: { path: string }; save?: Save };
type Body = Record<string, unknown>;

/** Stands between clients and a daemon as a daemon with that bug would: gives the socket to call. It speaks Connect JSON calls only. */
export async function startFaultyProxy(target: string, fault: Fault): Promise<string> {
  const cache = new Map<string, Body>();
  let calls = 0;
  const answer = async (path: string, body: Call): Promise<{ status: number; body: Body }> => {
    const wrong = ++calls % EVERY === 0;
    const { read_path: read, save } = body;
    if (fault === "stale read" && read !== undefined) {
      const old = cache.get(read.path);
      if (wrong && old !== undefined) return { status: 200, body: old };
      const fresh = await forward(target, path, body);
      // What it kept stays for good: the first answer it saw.
      if (old === undefined) cache.set(read.path, fresh.body);
      return fresh;
    }
    if (fault === "lost update" && save !== undefined) return await overwrite(target, path, save);
    if (fault === "early acknowledgement" && wrong && save !== undefined) return await pretend(target, path, save);
    return await forward(target, path, body);
  };
  const server: Server = createServer((incoming, outgoing) => {
    collect(incoming)
      .then((text) => answer(incoming.url ?? "", JSON.parse(text) as Call))
      .then(({ status, body }) => outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)))
      .catch(() => outgoing.destroy());
  });
  const socket = join(tempDir("faulty"), "s");
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  atTeardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return socket;
}

/** Saves over whatever is there, as an engine would that does not compare: whoever came between is lost. */
async function overwrite(target: string, path: string, save: Save): Promise<{ status: number; body: Body }> {
  const { generation: _generation, on_conflict: _conflict, ...rest } = save;
  const judged = await forward(target, path, { save: { ...save, on_conflict: "ON_CONFLICT_REFUSE", dry_run: true } });
  if (judged.body.error === undefined) return await forward(target, path, { save });
  const now = await forward(target, path, { read_path: { path: save.edits[0].path } });
  const expect = String((now.body.read_path as Body).sha256);
  return await forward(target, path, { save: { ...rest, edits: [{ ...save.edits[0], expect }] } });
}

/** Answers a save that is never done. */
async function pretend(target: string, path: string, save: Save): Promise<{ status: number; body: Body }> {
  const now = await forward(target, path, { read_path: { path: save.edits[0].path } });
  const { state } = now.body.read_path as { state: { generation: string } };
  const saved = {
    state: { ...state, generation: String(Number(state.generation) + 1) },
    checkpoint: "ck_never",
    paths: [{ path: save.edits[0].path, sha256: sha(save.edits[0].text), merged: false }],
    replayed: false,
  };
  return { status: 200, body: { save: saved } };
}

function forward(target: string, path: string, body: object): Promise<{ status: number; body: Body }> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        socketPath: target,
        host: "localhost",
        path,
        method: "POST",
        agent: false,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text) },
      },
      (response) => {
        collect(response).then(
          (answer) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) as Body }),
          reject,
        );
      },
    );
    sent.on("error", reject);
    sent.end(text);
  });
}

async function collect(stream: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += String(chunk);
  return text;
}
