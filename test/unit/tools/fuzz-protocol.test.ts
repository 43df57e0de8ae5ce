import { rmSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadRequest, readRequest } from "../../../src/clients/cli/tool/request.ts";
import { TOOL_CODES, TOOLS } from "../../../src/daemon/tools/index.ts";
import { loadCases } from "../../conformance/corpus.ts";
import { scaled } from "../../helpers/scale.ts";
import { type Envelope, openTools } from "./site.ts";

/** 50,000 of each in `npm run test:long` (scale 10). */
const INPUTS = scaled(5_000);
/** Calls go over HTTP: a tenth of them. */
const CALLS = scaled(500);
const SEED = Number(process.env.GIN_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31)) | 0;
/** An input of a few kilobytes that takes longer stalls somebody. */
const STALL_MS = 5_000;

const TOOL_NAMES = TOOLS.map(({ name }) => name);
/** Requests of the corpus, to be broken. */
const valid = loadCases().flatMap(([, cases]) =>
  cases.map(({ tool, args }) => ({ tool, args })).filter((one) => JSON.stringify(one).length < 2_000),
);

/** Names and values that mean something to some tool, besides any JSON. */
const argument = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  fc.constantFrom(
    "a.txt",
    "",
    ".",
    "..",
    "/",
    "a\u0000",
    "\ud800",
    "*".repeat(300),
    "(a+)+$",
    "[",
    "\\",
    "$1",
    "-1",
    "1e999",
    0,
    -1,
    2 ** 53,
    1.5,
    null,
    true,
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);
const names = [...new Set(TOOLS.flatMap(({ schema }) => Object.keys(schema.properties)))];
const anyArguments = fc.dictionary(
  fc.oneof(fc.constantFrom(...names, "__proto__", "constructor", "toString"), fc.string()),
  argument,
  { maxKeys: 6 },
);
/** A valid call with one argument replaced, dropped or added. */
const broken = fc
  .tuple(fc.constantFrom(...valid), fc.constantFrom(...names), argument, fc.boolean())
  .map(([one, name, value, drop]) => {
    const { [name]: _gone, ...rest } = one.args;
    return { tool: one.tool, args: drop ? rest : { ...rest, [name]: value } };
  });

describe("the one-shot protocol under any input", () => {
  const bytes = (text: string): Buffer => Buffer.from(text);
  const input = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)),
    fc.string({ unit: "binary", maxLength: 200 }).map(bytes),
    fc.json({ maxDepth: 4 }).map(bytes),
    broken.map((one) => bytes(JSON.stringify(one))),
    // A valid request with some of its bytes replaced, cut off, or doubled.
    fc
      .tuple(fc.constantFrom(...valid), fc.nat(), fc.nat(8), fc.string({ unit: "binary", maxLength: 4 }))
      .map(([one, at, cut, put]) => {
        const text = JSON.stringify(one);
        const place = at % text.length;
        return bytes(text.slice(0, place) + put + text.slice(place + cut));
      }),
    fc.nat(200).map((depth) => bytes(`{"tool":"read_file","args":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`)),
  );

  it(`is a request or a coded refusal, ${INPUTS} times`, { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(input, (raw) => {
        const from = performance.now();
        try {
          const request = readRequest(raw);
          expect(typeof request.tool === "string" && request.tool.trim() !== "").toBe(true);
          expect(Object.getPrototypeOf(request.args)).toBe(Object.prototype);
        } catch (thrown) {
          if (!(thrown instanceof BadRequest)) throw thrown;
          expect(["invalid_json", "invalid_args", "resource_limit"]).toContain(thrown.code);
          expect(thrown.message).not.toBe("");
        }
        expect(performance.now() - from).toBeLessThan(STALL_MS);
      }),
      { numRuns: INPUTS, seed: SEED },
    );
  });
});

describe("CallTool under any arguments", () => {
  it(`answers with an envelope, coded when it refuses, ${CALLS} times`, { timeout: 240_000 }, async () => {
    const site = await openTools({ "a.txt": "one\ntwo\nthree\n", "b.txt": "four\n", "dir/c.txt": "five\n" });
    const anyCall = fc.oneof(
      { weight: 3, arbitrary: broken },
      fc.record({ tool: fc.constantFrom(...TOOL_NAMES), args: anyArguments }),
      fc.record({ tool: fc.string({ maxLength: 20 }), args: anyArguments }),
    );
    await fc.assert(
      fc.asyncProperty(anyCall, async ({ tool, args }) => {
        const from = performance.now();
        const answer = await called(site.call, tool, args);
        expect(performance.now() - from).toBeLessThan(STALL_MS);
        if (answer === undefined || answer.ok) return;
        expect([...TOOL_CODES, "global_cap_exceeded"], JSON.stringify(answer)).toContain(answer.error_code);
        expect(answer.error).not.toBe("");
        expect(answer.suggestion).not.toBe("");
        expect(answer.error_code).not.toBe("internal");
        expect(JSON.stringify(answer)).not.toContain(site.root);
      }),
      { numRuns: CALLS, seed: SEED },
    );
    expect(site.api.logged).toEqual([]);
    expect((await site.ok("list_tools", {})).ok).toBe(true);
    rmSync(site.root, { recursive: true, force: true });
  });
});

/** One call. Undefined where JSON itself cannot carry the arguments: a refusal of the transport, with its code. */
async function called(
  call: Awaited<ReturnType<typeof openTools>>["call"],
  tool: string,
  args: object,
): Promise<Envelope | undefined> {
  try {
    return await call(tool, args);
  } catch (thrown) {
    expect(String(thrown)).toMatch(/^Error: 400 .*"(INVALID_REQUEST|MALFORMED)"/s);
    return undefined;
  }
}
