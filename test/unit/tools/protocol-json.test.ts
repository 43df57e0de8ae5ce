import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadRequest, readArguments, readRequest } from "../../../src/clients/cli/tool/request.ts";
import { parseStrict, StrictJsonError } from "../../../src/clients/cli/tool/strict-json.ts";

const SCALE = Number(process.env.GIN_TEST_SCALE ?? 1);

/** What is said against a text; undefined when it is taken. */
function fault(text: string | Uint8Array): string | undefined {
  try {
    parseStrict(Buffer.from(text as string));
    return undefined;
  } catch (thrown) {
    if (thrown instanceof StrictJsonError) return thrown.message;
    throw thrown;
  }
}

describe("strict JSON", () => {
  it("takes what JSON.parse takes, and gives the same", () => {
    const seed = Date.now();
    console.info(`strict JSON: seed ${seed}`);
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: "grapheme" }), fc.constantFrom(0, 1, 7), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        // A name that objects have of themselves is refused on purpose.
        fc.pre(!text.includes("__proto__"));
        expect(parseStrict(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
      { seed, numRuns: Math.ceil(1_000 * SCALE) },
    );
  });

  it("finds a key that is given twice wherever it is, and names the place", () => {
    const seed = Date.now();
    console.info(`strict JSON, twice: seed ${seed}`);
    const key = fc
      .oneof(fc.constantFrom("a", "b/c", "d~e", '"', "\\", "", "ü"), fc.string({ unit: "grapheme", maxLength: 5 }))
      .filter((name) => name !== "__proto__");
    const step = fc.oneof(
      key.map((name) => ({ name })),
      fc.nat(3).map((index) => ({ index })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), key, fc.boolean(), (steps, twice, escaped) => {
        const name = escaped
          ? `"${[...twice].map((char) => [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")).join("")}"`
          : JSON.stringify(twice);
        let text = `{${JSON.stringify(twice)}:1,"other":[{}],${name}:2}`;
        fc.pre(twice !== "other");
        for (const one of [...steps].reverse()) {
          text = "name" in one ? `{${JSON.stringify(one.name)}:${text}}` : `[${'"x",'.repeat(one.index)}${text}]`;
        }
        const said = fault(text) ?? "";
        expect(said).toMatch(/: is given twice$/);
        const last = twice.replaceAll("~", "~0").replaceAll("/", "~1");
        if (twice !== "") expect(said).toContain(`/${last}: is given twice`);
      }),
      { seed, numRuns: Math.ceil(1_000 * SCALE) },
    );
  });

  it("any text is taken or refused with a message that quotes nothing of it, and nothing else happens", () => {
    const seed = Date.now();
    console.info(`strict JSON, any: seed ${seed}`);
    const secret = "s3cr3t";
    const token = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "\\",
      "\\u",
      "\\ud800",
      "1e999",
      "-",
      "0",
      "true",
      "null",
      secret,
      `"${secret}"`,
      " ",
      "\n",
      "\ufeff",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        const said = fault(tokens.join(""));
        if (said !== undefined && !/^\//.test(said)) expect(said).not.toContain(secret);
      }),
      { seed, numRuns: Math.ceil(5_000 * SCALE) },
    );
  });

  it.each([
    ["0.1e-400", undefined],
    [`0.${"0".repeat(900)}1`, undefined],
    [`${"9".repeat(308)}`, undefined],
    [`0.${"9".repeat(900)}`, undefined],
    [`1${"0".repeat(400)}`, "beyond"],
    ["-1e309", "beyond"],
    ['"\\ud83d\\ude00"', undefined],
    ['"\\ud83d"', "half"],
    ['{"\\udc00":1}', "half"],
    ["\ufeff{}", "not JSON"],
    ["{'a':1}", "not JSON"],
    ['{"a":1,}', "not JSON"],
    ["NaN", "not JSON"],
    ["01", "not JSON"],
  ])("%.20s…: %s", (text, said) => {
    if (said === undefined) expect(fault(text)).toBe(undefined);
    else expect(fault(text)).toContain(said);
  });

  it("megabytes of the worst kinds are judged in a moment", () => {
    const most = 4 * 1024 * 1024;
    for (const text of [
      `["${'\\"'.repeat(most / 2)}"]`,
      `["${"\\\\".repeat(most / 2)}"]`,
      `[${"1,".repeat(most / 2)}1]`,
      `[${"[],".repeat(most / 3)}1]`,
      `[${"9".repeat(most)}]`,
    ]) {
      const from = performance.now();
      fault(text);
      expect(performance.now() - from).toBeLessThan(5_000);
    }
  });
});

describe("requests", () => {
  it("arguments alone are an object too", () => {
    expect(readArguments(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
    for (const text of ["[]", "1", "null", "", "{"]) expect(() => readArguments(Buffer.from(text))).toThrow(BadRequest);
  });

  it("arguments that are left out are none, and an empty request id is none", () => {
    expect(readRequest(Buffer.from('{"tool":"list_tools","request_id":""}'))).toEqual({
      tool: "list_tools",
      args: {},
      compress: false,
      requestId: "",
    });
  });
});
