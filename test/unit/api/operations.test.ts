import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { fieldOf, isAdmin, LIMITS, nameOf, OPERATION_KEYS, OPERATIONS, STREAM_KEYS } from "../../../src/daemon/api/index.ts";
import { REASONS } from "../../../src/daemon/base/index.ts";
import { AdminService } from "../../../src/gen/gin/v1/admin_pb.ts";
import { RequestSchema, ResponseSchema } from "../../../src/gen/gin/v1/call_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { caller, openApi } from "./site.ts";

it("lists every RPC of both services but Call, and nothing else", () => {
  const described = [...GinService.methods, ...AdminService.methods]
    .map((method) => method.name)
    .filter((name) => name !== "Call");
  expect([...OPERATION_KEYS, ...STREAM_KEYS].map(nameOf).sort()).toEqual(described.sort());
  const streaming = [...GinService.methods, ...AdminService.methods].filter((method) => method.methodKind !== "unary");
  expect(STREAM_KEYS.map(nameOf)).toEqual(streaming.map((method) => method.name));
});

it("names each operation's field as Request and Response have it, with the RPC's own messages", () => {
  const carried = OPERATION_KEYS.filter((key) => !isAdmin(key));
  expect(carried.map(fieldOf)).toEqual(RequestSchema.fields.map((field) => field.name));
  // Where the error stands in the group is of no matter: its number is what counts.
  const answered = ResponseSchema.fields.map((field) => field.name).filter((name) => name !== "error");
  expect(carried.map(fieldOf)).toEqual(answered);
  for (const key of carried) {
    const method = Object.values(GinService.method).find((one) => one.name === nameOf(key));
    expect(RequestSchema.fields.find((field) => field.name === fieldOf(key))?.message).toBe(method?.input);
    expect(ResponseSchema.fields.find((field) => field.name === fieldOf(key))?.message).toBe(method?.output);
    expect(RequestSchema.fields.find((field) => field.name === fieldOf(key))?.localName).toBe(key);
  }
});

it("gives every request message repository, workspace and request_id, and every recorded answer replayed and request_id", () => {
  for (const method of [...GinService.methods, ...AdminService.methods]) {
    if (method.name === "Call") continue;
    expect(
      method.input.fields.slice(0, 3).map((field) => field.name),
      method.name,
    ).toEqual(["repository", "workspace", "request_id"]);
  }
  for (const key of OPERATION_KEYS.filter((one) => OPERATIONS[one].recorded)) {
    const method = [...GinService.methods, ...AdminService.methods].find((one) => one.name === nameOf(key));
    const names = method?.output.fields.map((field) => field.name);
    expect(names, key).toContain("replayed");
    expect(names, key).toContain("request_id");
  }
});

it("prints from the table what works for this caller, with every limit and the features in force", async () => {
  const site = await openApi({
    callers: { reader: caller("r", { scopes: new Set(["read"]), transport: "tcp", tokenId: "tk_1" }) },
  });
  const all = (await site.call("Capabilities", {})).body;
  expect(all.operations.map((one: { name: string }) => one.name)).toEqual([...OPERATION_KEYS, ...STREAM_KEYS].map(nameOf));
  expect(all.operations.at(-1)).toEqual({ name: "Watch", field: "", kind: "read", scope: "read" });
  expect(all.limits).toEqual(Object.entries(LIMITS).map(([name, { value, unit }]) => ({ name, value: String(value), unit })));
  expect(all).toMatchObject({ version: "9.9.9", protocol: 1, principal: "owner" });
  const features = new Map(all.features.map((one: { name: string; value: string }) => [one.name, one.value]));
  expect(features.get("lease_policy")).toBe("auto");
  expect(features.get("shell")).toBe("disabled");
  expect(features.get("path_confinement")).toBe("handle-walk");
  const some = (await site.call("Capabilities", {}, { as: "reader" })).body;
  expect(some.operations.every((one: { scope: string }) => one.scope === "read")).toBe(true);
  // Of the tools those that only read work for it; the others ask for more when they are called.
  const changing = some.operations.filter((one: { kind: string }) => one.kind !== "read");
  expect(changing.map((one: { field: string }) => one.field)).toEqual(["call_tool"]);
  expect(some.operations.map((one: { field: string }) => one.field)).toContain("read_path");
});

it("works without a workspace where it can", async () => {
  const site = await openApi();
  site.hosted.length = 0;
  expect((await site.call("Capabilities", {})).body.state).toBeUndefined();
  expect((await site.call("RequestOutcome", { target_request_id: "x" })).body.outcome).toBe("OUTCOME_NOT_FOUND");
  const refused = await site.call("Context", {});
  expect([refused.error.reason, refused.error.facts.workspaces]).toEqual(["WORKSPACE_NOT_FOUND", []]);
});

it("freezes the names of reasons and their Connect codes", () => {
  const pinned = Object.entries(REASONS).map(([name, { code }]) => `${name} ${Code[code]}`);
  expect(pinned).toEqual(PINNED);
});

const PINNED = [
  "INVALID_REQUEST InvalidArgument",
  "INVALID_CURSOR InvalidArgument",
  "CURSOR_EXPIRED Aborted",
  "PATH_INVALID InvalidArgument",
  "PATH_OUTSIDE_WORKSPACE PermissionDenied",
  "PATH_SENSITIVE PermissionDenied",
  "PATH_NOT_FOUND NotFound",
  "NOT_A_FILE FailedPrecondition",
  "NOT_A_DIRECTORY FailedPrecondition",
  "ID_NOT_FOUND NotFound",
  "WORKSPACE_NOT_FOUND NotFound",
  "WORKSPACE_MISSING_ROOT FailedPrecondition",
  "ROOT_OWNED FailedPrecondition",
  "ROOT_OVERLAPS FailedPrecondition",
  "STALE_INCARNATION FailedPrecondition",
  "STALE_GENERATION Aborted",
  "STALE_EPOCH FailedPrecondition",
  "STALE_CONTENT Aborted",
  "MERGE_CONFLICT Aborted",
  "CONTENT_NOT_KEPT FailedPrecondition",
  "HISTORY_TRIMMED FailedPrecondition",
  "LEASE_REQUIRED FailedPrecondition",
  "LEASE_HELD Aborted",
  "LEASE_EXPIRED FailedPrecondition",
  "FENCE_SUPERSEDED FailedPrecondition",
  "REQUEST_ID_REQUIRED InvalidArgument",
  "REQUEST_ID_REUSED AlreadyExists",
  "REQUEST_IN_PROGRESS Aborted",
  "OUTCOME_INDETERMINATE Unknown",
  "UNAUTHENTICATED Unauthenticated",
  "TOKEN_EXPIRED Unauthenticated",
  "HOST_FORBIDDEN PermissionDenied",
  "ORIGIN_FORBIDDEN PermissionDenied",
  "SCOPE_FORBIDDEN PermissionDenied",
  "DENIED_BY_POLICY PermissionDenied",
  "APPROVAL_REQUIRED FailedPrecondition",
  "APPROVAL_DENIED PermissionDenied",
  "MEDIA_TYPE_UNSUPPORTED InvalidArgument",
  "METHOD_UNKNOWN Unimplemented",
  "MALFORMED InvalidArgument",
  "TOO_LARGE ResourceExhausted",
  "QUOTA_EXCEEDED ResourceExhausted",
  "DISK_FULL ResourceExhausted",
  "BUSY Unavailable",
  "CANCELLED Canceled",
  "DEADLINE_EXCEEDED DeadlineExceeded",
  "NOT_READY Unavailable",
  "UNSUPPORTED Unimplemented",
  "PREVIEW_STALE Aborted",
  "BRANCH_CHECKED_OUT FailedPrecondition",
  "STORE_READ_ONLY FailedPrecondition",
  "STORE_TOO_NEW FailedPrecondition",
  "STORE_CORRUPT DataLoss",
  "IO_FAILED Unavailable",
  "BINARY_FILE FailedPrecondition",
  "RESOURCE_LIMIT ResourceExhausted",
  "EDIT_NOT_FOUND FailedPrecondition",
  "EDIT_NOT_UNIQUE FailedPrecondition",
  "EDIT_NO_CHANGE FailedPrecondition",
  "EDIT_OVERLAP FailedPrecondition",
  "OLD_TEXT_EMPTY InvalidArgument",
  "INVALID_REGEX InvalidArgument",
  "PATCH_INVALID InvalidArgument",
  "SYMBOL_NOT_FOUND NotFound",
  "SYMBOL_AMBIGUOUS FailedPrecondition",
  "LSP_REFUSED FailedPrecondition",
  "LSP_NEEDS_TRUST FailedPrecondition",
  "INTERNAL Internal",
];
