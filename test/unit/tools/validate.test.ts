import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import type { ArgSchema, JsonMap, ToolSchema } from "../../../src/daemon/tools/index.ts";
import { TOOLS, templateOf } from "../../../src/daemon/tools/index.ts";
import { checkArgs } from "../../../src/daemon/tools/validate.ts";

const of = (properties: { readonly [name: string]: ArgSchema }, required: readonly string[] = []): ToolSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Where the first fault is; undefined when the arguments fit. */
function faultAt(schema: ToolSchema, args: unknown): string | undefined {
  try {
    checkArgs(schema, args as JsonMap);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof GinError) || thrown.reason !== "INVALID_REQUEST") throw thrown;
    return String(thrown.facts.field).replace(/^args/, "");
  }
}

describe("arguments", () => {
  it.each([
    [
      "integer",
      [0, -0, 3.0, 1e3, -7, 2 ** 53 - 1],
      [1.5, 2 ** 53, 1e300, "1", true, null, [], {}, Number.NaN, Number.POSITIVE_INFINITY],
    ],
    ["number", [0, -0, 0.5, -1e300, 2 ** 60], ["1", null, false, Number.NaN, Number.NEGATIVE_INFINITY]],
    ["string", ["", "a", "𝄞", "\0"], [1, null, true, [], {}, "\ud800", "a\udc00"]],
    ["boolean", [true, false], [0, 1, "true", null]],
    ["array", [[], [1]], [{}, "[]", null]],
    ["object", [{}, { a: 1 }], [[], null, "{}"]],
  ] as const)("a %s is that and nothing else", (type, good, bad) => {
    for (const value of good) expect([value, faultAt(of({ x: { type } }), { x: value })]).toEqual([value, undefined]);
    for (const value of bad) expect([value, faultAt(of({ x: { type } }), { x: value })]).toEqual([value, "/x"]);
  });

  it("bounds are inclusive, at n-1, n and n+1", () => {
    const schema = of({
      n: { type: "integer", minimum: 2, maximum: 4 },
      a: { type: "array", minItems: 1, maxItems: 2 },
      s: { type: "string", minLength: 2 },
      z: { type: "integer", minimum: 0 },
    });
    for (const [args, at] of [
      [{ n: 1 }, "/n"],
      [{ n: 2 }, undefined],
      [{ n: 4 }, undefined],
      [{ n: 5 }, "/n"],
      [{ a: [] }, "/a"],
      [{ a: [1] }, undefined],
      [{ a: [1, 2] }, undefined],
      [{ a: [1, 2, 3] }, "/a"],
      [{ s: "a" }, "/s"],
      [{ s: "ab" }, undefined],
      [{ z: -0 }, undefined],
    ] as const) {
      expect([args, faultAt(schema, args)]).toEqual([args, at]);
    }
  });

  it("of several forms exactly one must fit", () => {
    const schema = of({
      x: { oneOf: [{ type: "string" }, { type: "array", items: { type: "string" } }, { type: "string", minLength: 3 }] },
    });
    expect(faultAt(schema, { x: "ab" })).toBe(undefined);
    expect(faultAt(schema, { x: ["a"] })).toBe(undefined);
    // Fits the first and the third.
    expect(faultAt(schema, { x: "abc" })).toBe("/x");
    expect(faultAt(schema, { x: 1 })).toBe("/x");
    expect(faultAt(schema, { x: [1] })).toBe("/x");
  });

  it("an enum takes its texts, and no value that only prints like one", () => {
    const schema = of({ x: { enum: ["1", "true", "null"] } });
    for (const good of ["1", "true", "null"]) expect(faultAt(schema, { x: good })).toBe(undefined);
    for (const bad of [1, true, null, ["1"], "2"]) expect(faultAt(schema, { x: bad })).toBe("/x");
  });

  it("unknown and missing ones are named by their pointer, at any depth", () => {
    const schema = of({
      files: { type: "array", items: of({ path: { type: "string" } }, ["path"]) },
      map: { type: "object", additionalProperties: { type: "string" } },
    });
    expect(faultAt(schema, { "a/b~c": 1 })).toBe("/a~1b~0c");
    expect(faultAt(schema, { files: [{ path: "a" }, {}] })).toBe("/files/1/path");
    expect(faultAt(schema, { files: [{ path: "a", more: 1 }] })).toBe("/files/0/more");
    expect(faultAt(schema, { map: { any: "a", other: 1 } })).toBe("/map/other");
    expect(faultAt(schema, JSON.parse('{"__proto__":{"a":1}}'))).toBe("/__proto__");
    expect(faultAt(schema, { constructor: 1 })).toBe("/constructor");
    const inherited: { readonly [name: string]: ArgSchema } = JSON.parse('{"toString":{"type":"string"}}');
    expect(faultAt(of(inherited, ["toString"]), {})).toBe("/toString");
  });

  it("counts below zero are refused in words of their own, before anything else", () => {
    const schema = of({ path: { type: "string" } }, ["path"]);
    for (const name of [
      "timeout",
      "max_matches",
      "max_entries",
      "limit",
      "max_results",
      "depth",
      "max_depth",
      "context_lines",
      "highlight_sentences",
    ]) {
      expect(() => checkArgs(schema, { [name]: -1 })).toThrow(/must be non-negative/);
    }
  });

  it("half a character and a number that is none are refused wherever they stand, however deep", () => {
    const open = of({ x: { type: "object" } });
    expect(faultAt(open, { x: { a: [{ b: "\udfff" }] } })).toBe("/x/a/0/b");
    expect(faultAt(open, { x: { "\ud800": 1 } })).toBe("/x");
    expect(faultAt(open, { x: { n: Number.NaN } })).toBe("/x/n");
    let deep: JsonMap = {};
    for (let depth = 0; depth < 100_000; depth += 1) deep = { a: deep };
    expect(faultAt(open, { x: deep })).toBe(undefined);
  });

  it("a long name is cut in the message", () => {
    const at = faultAt(of({}), { ["𝄞".repeat(5_000)]: 1 }) ?? "";
    expect(at).toBe(`/${"𝄞".repeat(128)}`);
  });

  it("arguments built to fit are taken, and one wrong value is found where it is", () => {
    const seed = Date.now();
    console.info(`validate: seed ${seed}`);
    const scalar = fc.oneof(
      fc.record({ type: fc.constant("integer" as const), minimum: fc.constant(-5), maximum: fc.constant(5) }),
      fc.record({ type: fc.constant("string" as const), minLength: fc.nat(3) }),
      fc.constant({ type: "boolean" as const }),
      fc.constant({ enum: ["a", "b"] }),
    );
    const { any } = fc.letrec<{ any: ArgSchema }>((tie) => ({
      any: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        scalar,
        tie("any").map((items) => ({ type: "array" as const, items, minItems: 1 })),
        fc
          .dictionary(fc.constantFrom("p", "q", "r"), tie("any"), { minKeys: 1, maxKeys: 3 })
          .map((properties) => of(properties, Object.keys(properties))),
      ),
    }));
    const fitting = (schema: ArgSchema): unknown => {
      if (schema.enum !== undefined) return schema.enum[0];
      if (schema.type === "integer") return 0;
      if (schema.type === "string") return "x".repeat(schema.minLength ?? 0);
      if (schema.type === "boolean") return true;
      if (schema.type === "array") return [fitting(schema.items ?? {})];
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, one]) => [name, fitting(one)]));
    };
    /** The same with null, which nothing takes, at one place; and where that is. */
    const broken = (schema: ArgSchema, choose: () => number): [value: unknown, at: string] => {
      const inner = schema.type === "array" ? [["0", schema.items ?? {}] as const] : Object.entries(schema.properties ?? {});
      const pick = inner[choose() % Math.max(1, inner.length)];
      if (pick === undefined || choose() % 3 === 0) return [null, ""];
      const [value, at] = broken(pick[1], choose);
      const whole = fitting(schema) as { [name: string]: unknown };
      whole[pick[0]] = value;
      return [whole, `/${pick[0]}${at}`];
    };
    fc.assert(
      fc.property(any, fc.infiniteStream(fc.nat(1_000)), (schema, choices) => {
        const whole = of({ x: schema }, ["x"]);
        expect(faultAt(whole, { x: fitting(schema) })).toBe(undefined);
        const [value, at] = broken(schema, () => choices.next().value ?? 0);
        expect(faultAt(whole, { x: value })).toBe(`/x${at}`);
      }),
      { seed, numRuns: 500 },
    );
  });

  it("never throws anything but a coded refusal, whatever comes", () => {
    const seed = Date.now();
    fc.assert(
      fc.property(fc.constantFrom(...TOOLS), fc.dictionary(fc.string(), fc.jsonValue()), (tool, args) => {
        expect(["string", "undefined"]).toContain(typeof faultAt(tool.schema, args));
      }),
      { seed, numRuns: 1_000 },
    );
  });
});

describe("the schemas themselves", () => {
  it("use nothing the validator would pass over", () => {
    const KNOWN = new Set([
      "type",
      "description",
      "properties",
      "required",
      "additionalProperties",
      "items",
      "enum",
      "oneOf",
      "minimum",
      "maximum",
      "minItems",
      "maxItems",
      "minLength",
      "default",
    ]);
    const look = (schema: ArgSchema): void => {
      for (const key of Object.keys(schema)) expect(KNOWN).toContain(key);
      for (const name of schema.required ?? []) expect(Object.keys(schema.properties ?? {})).toContain(name);
      for (const one of Object.values(schema.properties ?? {})) look(one);
      if (schema.items !== undefined) look(schema.items);
      for (const form of schema.oneOf ?? []) look(form);
      if (typeof schema.additionalProperties === "object") look(schema.additionalProperties);
    };
    for (const { schema } of TOOLS) look(schema);
  });

  it("every default fits its own argument", () => {
    const look = (schema: ArgSchema): void => {
      for (const [name, one] of Object.entries(schema.properties ?? {})) {
        if (one.default !== undefined)
          expect([name, faultAt(of({ [name]: one }), { [name]: one.default })]).toEqual([name, undefined]);
        look(one);
      }
      if (schema.items !== undefined) look(schema.items);
    };
    for (const { schema } of TOOLS) look(schema);
  });

  it("a template with its places filled in is taken by the schema it was made from", () => {
    const fill = (value: unknown): unknown => {
      if (value === "<required>") return "filled";
      if (Array.isArray(value)) return value.map(fill);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]));
    };
    for (const { name, schema } of TOOLS)
      expect([name, faultAt(schema, fill(templateOf(schema).call))]).toEqual([name, undefined]);
  });
});
