import { expect, test } from "vitest";
import * as sdk from "../../../src/clients/sdk/index.ts";
import { AdminService } from "../../../src/gen/gin/v1/admin_pb.ts";
import { RequestSchema } from "../../../src/gen/gin/v1/call_pb.ts";

test("the SDK exports these names: one that goes breaks whoever uses it", () => {
  expect(Object.keys(sdk).sort()).toEqual([
    "ADMIN_OPERATIONS",
    "DEFAULT_TIMEOUT_MS",
    "EngineError",
    "JsonClient",
    "NotSentError",
    "OPERATIONS",
    "READ_ONLY_TOOLS",
    "SESSION_FLAGS",
    "SESSION_HELP",
    "StartError",
    "TransportError",
    "UnknownOutcomeError",
    "UsageError",
    "createClient",
    "errorDetail",
    "isObject",
    "milliseconds",
    "mintRequestId",
    "onlyOperation",
    "openSession",
    "prepare",
    "programFile",
    "sessionOptions",
    "toolEnvelope",
  ]);
});

test("every operation of the contract has its row, and no row is made up", () => {
  expect(Object.keys(sdk.OPERATIONS)).toEqual(RequestSchema.fields.map((field) => field.name));
  expect(Object.keys(sdk.ADMIN_OPERATIONS)).toEqual(AdminService.methods.map((method) => method.name));
});

test("every session flag is explained, with its variable", () => {
  expect(sdk.SESSION_HELP.map(([flag]) => flag.split(" ")[0])).toEqual(Object.keys(sdk.SESSION_FLAGS).map((name) => `--${name}`));
});

test("a request id is rq_ and 20 characters of 0-9a-v, fresh each time", () => {
  const ids = Array.from({ length: 1000 }, () => sdk.mintRequestId());
  for (const id of ids) expect(id).toMatch(/^rq_[0-9a-v]{20}$/);
  expect(new Set(ids).size).toBe(1000);
});
