import { atTeardown } from "../../helpers/teardown.ts";
import type { ApiSite } from "./site.ts";

/** A message of Watch as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever JSON came back
export type Message = any;

/** An open Watch. */
export interface Watching {
  /** The next message; rejects when the stream ends first. */
  next(): Promise<Message>;
  /** So many messages. */
  take(count: number): Promise<Message[]>;
  /** Waits for its end: the reason it was ended with, "" when it ended well. Messages before it are passed over. */
  ended(): Promise<string>;
  /** The caller leaves. */
  leave(): void;
}

/** Opens Watch as a Connect stream of JSON. */
export async function watching(site: ApiSite, request: object, as = "owner"): Promise<Watching> {
  const leaving = new AbortController();
  atTeardown(() => leaving.abort());
  const response = await fetch(`${site.url}/gin.v1.GinService/Watch`, {
    method: "POST",
    body: enveloped(Buffer.from(JSON.stringify(request))),
    headers: { "content-type": "application/connect+json", "x-caller": as },
    signal: leaving.signal,
  });
  if (response.body === null) throw new Error("no body");
  // Read from at once: fetch cancels a body nobody has begun to read when its Response is collected.
  const chunks = (response.body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const messages = envelopes({ [Symbol.asyncIterator]: () => chunks });
  const step = async (): Promise<{ message?: Message; end?: string }> => {
    const { value, done } = await messages.next();
    if (done === true) throw new Error("the stream broke off");
    if (!value.last) return { message: value.json };
    return { end: value.json.error?.details?.[0]?.debug?.reason ?? value.json.error?.code ?? "" };
  };
  const next = async (): Promise<Message> => {
    const { message, end } = await step();
    if (message === undefined) throw new Error(`the stream ended: ${end}`);
    return message;
  };
  return {
    next,
    async take(count) {
      const taken: Message[] = [];
      while (taken.length < count) taken.push(await next());
      return taken;
    },
    async ended() {
      for (;;) {
        const { end } = await step();
        if (end !== undefined) return end;
      }
    },
    leave: () => leaving.abort(),
  };
}

/** A message in Connect's envelope. */
export function enveloped(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([head, message]);
}

/** What the last envelope of a stream's answer says, whatever form its messages have. */
export async function endOf(response: Response): Promise<Message> {
  if (response.body === null) throw new Error("no body");
  for await (const { last, json } of envelopes(response.body as unknown as AsyncIterable<Uint8Array>)) if (last) return json;
  throw new Error("the stream broke off");
}

async function* envelopes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<{ last: boolean; json: Message }> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      yield { last: ((rest[0] ?? 0) & 2) !== 0, json: JSON.parse(rest.toString("utf8", 5, end)) };
      rest = rest.subarray(end);
    }
  }
}

/** What a message tells, in short: "ready", "trimmed CHECKPOINT", "save a.txt", "GRANTED src". */
export function told(message: Message): string {
  if (message.ready !== undefined) return "ready";
  if (message.trimmed !== undefined) return `trimmed ${message.trimmed.kinds.map((kind: string) => kind.slice(11)).join(" ")}`;
  if (message.lease !== undefined) return `${message.lease.change.slice(13)} ${message.lease.lease.paths.join(" ")}`;
  if (message.annotation !== undefined) return `annotation ${message.annotation.text}`;
  const { cause, paths } = message.checkpoint;
  return `${cause.slice(6).toLowerCase()} ${paths.map(({ path }: { path: string }) => path).join(" ")}`;
}
