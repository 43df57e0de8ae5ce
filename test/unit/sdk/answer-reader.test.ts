import { describe, expect, test } from "vitest";
import { AnswerReader, BadAnswer } from "../../../src/clients/sdk/answer-reader.ts";
import type { Answer } from "../../../src/clients/sdk/post.ts";

const LONG = "x".repeat(20_000);

/** Feeds a text in pieces of `size` bytes; undefined while the answer is not whole. */
function read(text: string, size = text.length, max?: number): Answer | undefined {
  const bytes = Buffer.from(text, "latin1");
  const reader = new AnswerReader(max);
  for (let at = 0; at < bytes.length; at += size) {
    const answer = reader.push(bytes.subarray(at, at + size));
    if (answer !== undefined) return answer;
  }
  return undefined;
}

const WHOLE = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 2\r\nX-A: 1\r\nx-a:  2\t \r\n\r\n{}";
const CHUNKED =
  'HTTP/1.1 400 Bad Request\r\ntransfer-encoding: Chunked\r\n\r\n5;name="a"\r\n{"a":\r\n0A \r\n1234567890\r\n1\r\n}\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n';

describe("answers, in pieces of any size", () => {
  test.each([1, 2, 3, 7, 1000])("%i bytes at a time", (size) => {
    expect(read(WHOLE, size)).toEqual({
      status: 200,
      headers: { "content-type": "application/json", "content-length": "2", "x-a": "1, 2" },
      body: Buffer.from("{}"),
    });
    expect(read(CHUNKED, size)).toMatchObject({ status: 400, body: Buffer.from('{"a":1234567890}') });
    const interim = `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 100\r\n\r\n${WHOLE}`;
    expect(read(interim, size)).toEqual(read(WHOLE));
  });

  test("an answer without a body is whole at the end of its head", () => {
    expect(read("HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n")?.body.length).toBe(0);
    expect(read("HTTP/1.1 204 No Content\r\n\r\n")).toMatchObject({ status: 204 });
    expect(read("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")?.body.length).toBe(0);
  });

  test("every proper beginning is not yet an answer, and what follows one is left unread", () => {
    for (const text of [WHOLE, CHUNKED]) {
      for (let end = 0; end < text.length; end++) expect([end, read(text.slice(0, end))]).toEqual([end, undefined]);
      expect(read(`${text}HTTP/1.1 500 No\r\n\r\n`)).toEqual(read(text));
    }
  });

  test("a header's name that objects have of themselves is a header like any other", () => {
    const answer = read("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n__proto__: a\r\nconstructor: b\r\n\r\n");
    expect(Object.entries(answer?.headers ?? {})).toEqual([
      ["content-length", "0"],
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
  });
});

describe("what is no answer is refused", () => {
  const head = (more: string): string => `HTTP/1.1 200 OK\r\n${more}\r\n`;
  const chunks = (more: string): string => `${head("transfer-encoding: chunked\r\n")}${more}`;
  test.each([
    ["another protocol", "SSH-2.0-OpenSSH\r\n"],
    ["another protocol that has not ended its line", "SSH"],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\n"],
    ["HTTP/2's first frame", "\0\0\x12\x04"],
    ["an empty line first", "\r\nHTTP/1.1 200 OK\r\n"],
    ["a status that is none", "HTTP/1.1 2000 OK\r\n"],
    ["a status of no class", "HTTP/1.1 600 OK\r\n"],
    ["a control character in the status line", "HTTP/1.1 200 a\0b\r\n"],
    ["a change of protocol", "HTTP/1.1 101 Switching Protocols\r\n"],
    ["lines without CR", "HTTP/1.1 200 OK\ncontent-length: 0\n\n"],
    ["a CR inside a line", head("x-a: 1\rx-b: 2\r\n")],
    ["a folded header", head("x-a: 1\r\n 2\r\n")],
    ["a header without a name", head(": 1\r\n")],
    ["a blank before the colon", head("content-length : 2\r\n")],
    ["a header without a colon", head("x-a\r\n")],
    ["a NUL in a header", head("x-a: \0\r\n")],
    ["no length", head("content-type: a\r\n")],
    ["two lengths", head("content-length: 2\r\ncontent-length: 3\r\n")],
    ["a length with a sign", head("content-length: +2\r\n")],
    ["a length in hex", head("content-length: 0x2\r\n")],
    ["an endless length", head("content-length: 9999999999999999\r\n")],
    ["a length beside chunks", head("content-length: 2\r\ntransfer-encoding: chunked\r\n")],
    ["another coding", head("transfer-encoding: gzip, chunked\r\n")],
    ["a chunk without a size", chunks("\r\n")],
    ["a chunk's size with a sign", chunks("-1\r\n")],
    ["a chunk's size of nine digits", chunks("000000001\r\n")],
    ["a chunk longer than its size", chunks("2\r\nabc\r\n")],
    ["a malformed trailer", chunks("0\r\nno trailer\r\n")],
    ["a status line that does not end", `HTTP/1.1 200 ${LONG}`],
    ["one header that is too large", head(`x-a: ${LONG}\r\n`)],
    ["many headers that are too large together", head("x-a: 1\r\n".repeat(3_000))],
    ["interim answers without end", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)],
    ["a chunk's size line that is too large", chunks(`1;${LONG}`)],
    ["trailers that are too large", chunks(`0\r\n${"x-a: 1\r\n".repeat(3_000)}`)],
  ])("%s", (_what, text) => {
    for (const size of [1, text.length]) expect(() => read(text, size)).toThrow(BadAnswer);
  });

  test("a body above the bound, as soon as its length is told", () => {
    expect(read(`${head("content-length: 4\r\n")}abcd`, 1, 4)?.body.toString()).toBe("abcd");
    expect(() => read(head("content-length: 5\r\n"), 1, 4)).toThrow(BadAnswer);
    expect(read(chunks("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"), 1, 4)?.body.toString()).toBe("abcd");
    expect(() => read(chunks("2\r\nab\r\n3\r\n"), 1, 4)).toThrow(BadAnswer);
    expect(() => read(head(`content-length: ${64 * 1024 * 1024 + 1}\r\n`))).toThrow(BadAnswer);
  });
});

test("many small chunks are no large head", () => {
  const chunks = "1\r\na\r\n".repeat(10_000);
  expect(read(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`)?.body.length).toBe(10_000);
});
