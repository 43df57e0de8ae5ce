import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { type Case, plant, resolve, type Step, snapshot, type Tree } from "./corpus.ts";
import { hashesOf, settled } from "./envelope.ts";
import type { Transport } from "./transports.ts";

/** What came of a case. */
export interface Came {
  readonly envelope: JsonObject;
  /** Undefined where nothing changed. */
  readonly after: Tree | undefined;
}

/** Plants the tree, makes the calls that come first, then the case's own. */
export async function runCase(transport: Transport, one: Case): Promise<Came> {
  const { root } = transport;
  plant(root, one.before);
  await forget(transport, one);
  for (const step of one.given ?? []) {
    const done = await call(transport, step);
    if (done.ok !== true) throw new Error(`${one.name}: ${step.tool} came first and was refused: ${JSON.stringify(done)}`);
  }
  const hashes = hashesOf(root);
  const start = JSON.stringify(snapshot(root));
  const made = await call(transport, one);
  for (const [hash, name] of hashesOf(root)) if (!hashes.has(hash)) hashes.set(hash, name.replace("of", "of the new"));
  const after = snapshot(root);
  return { envelope: settled(made, root, hashes), after: JSON.stringify(after) === start ? undefined : after };
}

/** What an earlier case left beside files: entries of undo, memories of the project. */
async function forget(transport: Transport, { tool }: Case): Promise<void> {
  if (tool === "undo") await transport.call({ tool, args: { action: "clear" } });
  if (tool !== "memory") return;
  const listed = await transport.call({ tool, args: { action: "list" } });
  const { keys = [] } = JSON.parse(String(listed.result || "{}")) as { keys?: (string | { key: string })[] | null };
  for (const one of keys ?? []) {
    await transport.call({ tool, args: { action: "forget", key: typeof one === "string" ? one : one.key } });
  }
}

async function call(transport: Transport, step: Step): Promise<JsonObject> {
  const text = JSON.stringify(step.args);
  let ids: string[] = [];
  if (text.includes('"$undo"')) {
    const listed = await transport.call({ tool: "undo", args: { action: "list" } });
    ids = (JSON.parse(String(listed.result)) as { entries: { id: string }[] }).entries.map(({ id }) => id);
  }
  const args = resolve(step.args, { root: transport.root, undoId: (index) => ids[index] ?? "none-there" }) as JsonObject;
  const { request_id: id, compress } = step;
  return transport.call({
    tool: step.tool,
    args,
    ...(id === undefined ? {} : { request_id: id }),
    ...(compress === undefined ? {} : { compress }),
  });
}
