import { create, type DescField, type DescMessage, type Message, ScalarType, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { encode } from "../../../src/daemon/listener/encode.ts";
import { OriginResponseSchema } from "../../../src/gen/gin/v1/origin_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";

const TEXTS = [
  "",
  "a",
  "é",
  "\u{1f600}",
  "x".repeat(41),
  "é".repeat(42),
  "\u20ac".repeat(43),
  "y".repeat(127),
  "z".repeat(20_000),
  "lone \ud800",
];
const NUMBERS = [0, 1, 127, 128, 16_383, 16_384, 0x7fff_ffff];
const LARGE = [0n, 1n, 127n, 128n, 0xffff_ffffn, BigInt(Number.MAX_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER) + 1n];

function scalar(random: Chance, field: DescField): unknown {
  if (field.enum !== undefined) return random.pick(field.enum.values).number;
  switch (field.scalar) {
    case ScalarType.STRING:
      return random.pick(TEXTS);
    case ScalarType.BYTES:
      return Buffer.from(random.pick(TEXTS));
    case ScalarType.BOOL:
      return random.maybe(0.5);
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return random.pick(LARGE);
    case ScalarType.INT32:
      return random.maybe(0.05) ? -1 : random.pick(NUMBERS);
    case ScalarType.DOUBLE:
      return 0.5;
    default:
      return random.pick(NUMBERS);
  }
}

function value(random: Chance, field: DescField, depth: number): unknown {
  if (field.message === undefined) return scalar(random, field);
  return field.message.typeName === "google.protobuf.Struct" ? { a: [1, "b", null] } : made(random, field.message, depth + 1);
}

/** A message of any kind, with some of its fields. */
function made(random: Chance, desc: DescMessage, depth = 0): Message {
  const init: Record<string, unknown> = {};
  for (const member of desc.members) {
    if (random.maybe(depth > 3 ? 0.8 : 0.3)) continue;
    if (member.kind === "oneof") {
      const field = random.pick(member.fields);
      init[member.localName] = { case: field.localName, value: value(random, field, depth) };
    } else if (member.fieldKind === "list") {
      init[member.localName] = Array.from({ length: random.int(depth > 1 ? 3 : 8) }, () => value(random, member, depth));
    } else if (member.fieldKind !== "map") init[member.localName] = value(random, member, depth);
  }
  return create(desc, init as never);
}

test("an answer is encoded to the same bytes as by the library, or left to it", () => {
  const random = chance("encode");
  const own = new Map<string, number>();
  for (let round = 0; round < scaled(150); round++) {
    for (const { output } of GinService.methods) {
      const message = made(random, output);
      const bytes = encode(output, message);
      if (bytes === undefined) continue;
      own.set(output.name, (own.get(output.name) ?? 0) + 1);
      if (!Buffer.from(toBinary(output, message)).equals(bytes)) expect.fail(`${output.name} of seed ${random.seed} differs`);
    }
  }
  for (const name of ["OriginResponse", "ReadPathResponse", "SaveResponse", "ListCheckpointsResponse", "ContextResponse"])
    expect(own.get(name) ?? 0, name).toBeGreaterThan(5);
});

test("what is unusual or wrong is left to the library, which says what is wrong", () => {
  const page = (lineCount: unknown) => create(OriginResponseSchema, { path: "a", lineCount } as never);
  expect(encode(OriginResponseSchema, page(1n))).toBeDefined();
  for (const wrong of [-1n, 1n << 60n, 1.5, "1"])
    expect(encode(OriginResponseSchema, page(wrong)), String(wrong)).toBeUndefined();
  expect(encode(OriginResponseSchema, create(OriginResponseSchema, { path: 1 } as never))).toBeUndefined();
  const unknown = page(1n);
  unknown.$unknown = [{ no: 99, wireType: 0, data: new Uint8Array([1]) }];
  expect(encode(OriginResponseSchema, unknown)).toBeUndefined();
  expect(encode(StructSchema, create(StructSchema, {}))).toBeUndefined();
});
