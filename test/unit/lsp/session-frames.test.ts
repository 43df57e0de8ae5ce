import { expect, test } from "vitest";
import { BrokenStream, FRAME_BYTES, Frames } from "../../../src/daemon/lsp/session/frames.ts";

const bodiesOf = (frames: Frames, ...pieces: (string | Buffer)[]): string[] =>
  pieces.flatMap((piece) => [...frames.push(Buffer.from(piece))].map((body) => body.toString()));

const frame = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test("messages come out the same however the stream is cut", () => {
  const stream = Buffer.from(
    `${frame('{"a":"ä😀"}')}content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}${frame("")}${frame("[1]")}`,
  );
  const whole = ['{"a":"ä😀"}', "{}", "", "[1]"];
  expect(bodiesOf(new Frames(), stream)).toEqual(whole);
  for (let cut = 0; cut <= stream.length; cut += 1) {
    expect(bodiesOf(new Frames(), stream.subarray(0, cut), stream.subarray(cut)), `cut at ${cut}`).toEqual(whole);
  }
  const single = new Frames();
  expect([...stream].flatMap((byte) => bodiesOf(single, Buffer.from([byte])))).toEqual(whole);
});

test.for([
  ["Content-Type: application/json\r\n\r\n{}", "it sent a message without a Content-Length"],
  ["Content-Length: 12a\r\n\r\n", "it sent a message with a Content-Length that is no number"],
  ["Content-Length: -1\r\n\r\n", "it sent a message with a Content-Length that is no number"],
  [
    `Content-Length: ${FRAME_BYTES + 1}\r\n\r\n`,
    `it sent a message of ${FRAME_BYTES + 1} bytes, and ${FRAME_BYTES} are the most`,
  ],
  ["Listening on stdio\n", "it sent something that is no message"],
  ["Content-Length: 2\n\n{}", "it sent something that is no message"],
  ["x".repeat(5_000), "it sent something that is no message"],
  [`X-A: ${"x".repeat(5_000)}\r\n`, "it sent something that is no message"],
] as const)("%j breaks the stream as soon as it can be told", ([stream, note]) => {
  const frames = new Frames();
  expect(() => bodiesOf(frames, frame("{}"), stream)).toThrow(new BrokenStream(note));
});

test("the largest message is taken, its pieces put together once", () => {
  const frames = new Frames();
  const piece = Buffer.alloc(64 * 1024, "x");
  expect(bodiesOf(frames, `Content-Length: ${FRAME_BYTES}\r\n\r\n`)).toEqual([]);
  let bytes = 0;
  for (let sent = 0; sent < FRAME_BYTES; sent += piece.length) for (const body of frames.push(piece)) bytes += body.length;
  expect(bytes).toBe(FRAME_BYTES);
});
