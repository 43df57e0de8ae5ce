import { create, type DescMessage, type DescMethodUnary, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { beforeAll, describe, expect, it } from "vitest";
import { nameOf, OPERATION_KEYS, OPERATIONS, STREAM_KEYS } from "../../../src/daemon/api/index.ts";
import { AdminService } from "../../../src/gen/gin/v1/admin_pb.ts";
import { RequestSchema, ResponseSchema } from "../../../src/gen/gin/v1/call_pb.ts";
import { type SaveRequest, SaveRequestSchema } from "../../../src/gen/gin/v1/save_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { type Answer, type ApiSite, answerOf, openApi } from "./site.ts";
import { endOf, enveloped } from "./watching.ts";

let site: ApiSite;
let ids = 0;
beforeAll(async () => {
  site = await openApi();
});

const methods: DescMethodUnary[] = [...GinService.methods, ...AdminService.methods] as DescMethodUnary[];
const path = (method: DescMethodUnary): string => `/${method.parent.typeName}/${method.name}`;
const json = async (method: DescMethodUnary, body: string | Uint8Array): Promise<Answer> => refused(method, "json", body);

/** A request as its RPC takes it, which for a stream is in an envelope; a refused stream's end is its answer. */
async function refused(method: DescMethodUnary, form: "json" | "proto", body: string | Uint8Array): Promise<Answer> {
  const streams = STREAM_KEYS.map(nameOf).includes(method.name);
  if (!streams) return answerOf(await site.raw(path(method), `application/${form}`, body));
  const end = await endOf(await site.raw(path(method), `application/connect+${form}`, enveloped(Buffer.from(body))));
  return { status: 200, code: end.error.code, body: end, error: end.error.details[0].debug };
}
const refusal = (answer: Answer) => [answer.error?.reason, answer.error?.facts?.field];

/** Field number 99 with a varint: nothing in the contract has it. */
const unknownField = new BinaryWriter().tag(99, WireType.Varint).uint32(1).finish();
const withUnknown = (schema: DescMessage, message: Message): Uint8Array =>
  Buffer.concat([toBinary(schema, message), unknownField]);

describe.each(methods.map((method) => ({ name: `${method.parent.name}.${method.name}`, method })))("$name", ({ method }) => {
  it("refuses an unknown field in JSON and in binary, by its path", async () => {
    expect(refusal(await json(method, '{"bogus":1}'))).toEqual(["INVALID_REQUEST", "bogus"]);
    const bytes = withUnknown(method.input, create(method.input));
    if (method.name === "Call") {
      const answer = await site.raw(path(method), "application/proto", bytes);
      const { result } = fromBinary(ResponseSchema, new Uint8Array(await answer.arrayBuffer()));
      expect(result.case === "error" && [result.value.reason, result.value.facts?.field]).toEqual(["INVALID_REQUEST", "#99"]);
    } else {
      expect(refusal(await refused(method, "proto", bytes))).toEqual(["INVALID_REQUEST", "#99"]);
    }
  });

  it("refuses wrong types and what is no object, no JSON, no UTF-8", async () => {
    const [first] = method.input.fields;
    const name = method.name === "Call" ? "save" : (first?.name ?? "");
    expect(refusal(await json(method, `{"${name}":7}`))).toEqual(["INVALID_REQUEST", name]);
    expect(refusal(await json(method, "[]"))).toEqual(["INVALID_REQUEST", "request"]);
    expect(refusal(await json(method, "{"))).toEqual(["MALFORMED", undefined]);
    expect((await json(method, Uint8Array.of(0x7b, 0xff, 0x7d))).error.reason).toBe("MALFORMED");
  });
});

describe("what only some messages hold", () => {
  const save = GinService.method.save;

  it("names nested unknown fields by their path, in JSON, binary and Call", async () => {
    expect(refusal(await json(save, '{"edits":[{"path":"a"},{"path":"b","bogus":1}]}'))).toEqual([
      "INVALID_REQUEST",
      "edits[1].bogus",
    ]);
    expect(refusal(await json(GinService.method.call, '{"save":{"edits":[{"bogus":1}]}}'))).toEqual([
      "INVALID_REQUEST",
      "save.edits[0].bogus",
    ]);
    const request = create(SaveRequestSchema, { requestId: "r", edits: [{ path: "a" }, { path: "b" }] });
    const [, second] = request.edits;
    if (second !== undefined) second.$unknown = [{ no: 99, wireType: WireType.Varint, data: Uint8Array.of(1) }];
    expect(
      refusal(await answerOf(await site.raw(path(save), "application/proto", toBinary(SaveRequestSchema, request)))),
    ).toEqual(["INVALID_REQUEST", "edits[1].#99"]);
    const wrapped = toBinary(RequestSchema, create(RequestSchema, { operation: { case: "save", value: request } }));
    const answer = await site.raw("/gin.v1.GinService/Call", "application/proto", wrapped);
    const { result } = fromBinary(ResponseSchema, new Uint8Array(await answer.arrayBuffer()));
    expect(result.case === "error" && result.value.facts).toMatchObject({ field: "save.edits[1].#99" });
  });

  it("refuses bad enum names and numbers, in JSON and binary", async () => {
    for (const bad of ['"ON_CONFLICT_WISH"', "7", "1.5", '"merge"']) {
      expect(refusal(await json(save, `{"on_conflict":${bad}}`)), bad).toEqual(["INVALID_REQUEST", "on_conflict"]);
    }
    expect(refusal(await json(GinService.method.listCheckpoints, '{"cause":"CAUSE_WISH"}'))).toEqual([
      "INVALID_REQUEST",
      "cause",
    ]);
    const request = toBinary(SaveRequestSchema, {
      ...create(SaveRequestSchema, { requestId: "r" }),
      onConflict: 7,
    } as unknown as SaveRequest);
    expect(refusal(await answerOf(await site.raw(path(save), "application/proto", request)))).toEqual([
      "INVALID_REQUEST",
      "on_conflict",
    ]);
  });

  it("takes 64-bit numbers beyond 2^53 as strings only", async () => {
    const generation = (value: string) =>
      json(
        save,
        `{"request_id":"g${++ids}","generation":${value},"edits":[{"path":"9007199254740993","text":"9007199254740993"}]}`,
      );
    for (const bad of [
      "9007199254740993",
      "9007199254740992",
      "1e300",
      "-1",
      "1.5",
      '"x"',
      '""',
      '"-1"',
      '"18446744073709551616"',
      "true",
    ]) {
      expect(refusal(await generation(bad)), bad).toEqual(["INVALID_REQUEST", "generation"]);
    }
    for (const good of ["9007199254740991", '"9007199254740993"', '"18446744073709551615"']) {
      expect((await generation(good)).error.reason, good).toBe("STALE_GENERATION");
    }
    expect(refusal(await json(GinService.method.readPath, '{"limit":4294967296}'))).toEqual(["INVALID_REQUEST", "limit"]);
  });

  it("reads both spellings of a name, but not both at once, and one operation of a group", async () => {
    expect((await json(GinService.method.requestOutcome, '{"targetRequestId":"a"}')).status).toBe(200);
    expect((await json(GinService.method.requestOutcome, '{"target_request_id":"a"}')).status).toBe(200);
    expect(refusal(await json(GinService.method.requestOutcome, '{"target_request_id":"a","targetRequestId":"a"}'))).toEqual([
      "INVALID_REQUEST",
      "targetRequestId",
    ]);
    expect(refusal(await json(GinService.method.call, '{"save":{},"context":{}}'))).toEqual(["INVALID_REQUEST", "context"]);
    expect(refusal(await json(GinService.method.call, "{}"))).toEqual(["INVALID_REQUEST", "operation"]);
  });

  it("refuses half a character and bad base64", async () => {
    const edit = (text: string) => json(save, `{"request_id":"e${++ids}","edits":[{"path":"a","expect":"absent",${text}}]}`);
    expect(refusal(await edit('"text":"\\ud800"'))).toEqual(["INVALID_REQUEST", "edits[0].text"]);
    expect(refusal(await edit('"data":"@@"'))).toEqual(["INVALID_REQUEST", "edits[0].data"]);
    expect((await edit('"text":"\\ud83d\\ude00"')).status).toBe(200);
  });

  it("spells answers with proto names, 64-bit strings, and empty fields written out", async () => {
    const { body } = await site.call("Context", {});
    expect(body.state.generation).toMatch(/^"?\d+"?$/);
    expect(typeof body.apply_pending).toBe("string");
    expect(body.leases).toEqual([]);
    expect(body.changes_cut).toBe(false);
  });
});

it("refuses every operation without its scope, and everything for nobody", async () => {
  const bare = await openApi({
    callers: {
      bare: {
        principal: "bare",
        transport: "tcp",
        scopes: new Set(),
        workspaces: undefined,
        paths: undefined,
        tokenId: "tk_1",
        client: "",
      },
    },
  });
  for (const key of OPERATION_KEYS) {
    const service = AdminService.method[key as keyof typeof AdminService.method] === undefined ? "call" : "admin";
    const body = OPERATIONS[key].recorded ? { request_id: key } : {};
    const refused = await bare[service](nameOf(key), body, { as: "bare" });
    // A tool's refusal is part of its answer.
    const { reason, scope } = key === "callTool" ? refused.body.facts : { ...refused.error, ...refused.error.facts };
    expect([reason, scope], key).toEqual(["SCOPE_FORBIDDEN", OPERATIONS[key].action]);
    expect((await bare[service](nameOf(key), body, { as: "nobody" })).error.reason, key).toBe("UNAUTHENTICATED");
  }
  const call = await bare.call("Call", { context: {} }, { as: "bare" });
  expect([call.status, call.error.reason]).toEqual([200, "SCOPE_FORBIDDEN"]);
  const nobody = await bare.call("Call", { context: {} }, { as: "nobody" });
  expect([nobody.status, nobody.code]).toEqual([401, "unauthenticated"]);
});
