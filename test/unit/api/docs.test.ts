import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMessage, fromJsonString } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  fieldOf,
  isAdmin,
  LIMITS,
  nameOf,
  OPERATION_KEYS,
  OPERATIONS,
  STREAM_KEYS,
  STREAMS,
} from "../../../src/daemon/api/index.ts";
import { REASONS } from "../../../src/daemon/base/index.ts";
import { AdminService } from "../../../src/gen/gin/v1/admin_pb.ts";
import { RequestSchema, ResponseSchema } from "../../../src/gen/gin/v1/call_pb.ts";
import { GinService } from "../../../src/gen/gin/v1/service_pb.ts";
import { repo } from "../../helpers/repo.ts";

const text = readFileSync(join(repo, "docs/api.md"), "utf8");

/** A section by its heading, without those below it. */
function section(heading: string): string {
  const lines = text.split("\n");
  const from = lines.indexOf(heading);
  if (from === -1) throw new Error(`docs/api.md has no "${heading}"`);
  const level = heading.indexOf(" ");
  const length = lines.slice(from + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(" ") <= level);
  return lines.slice(from + 1, length === -1 ? undefined : from + 1 + length).join("\n");
}

const rows = (heading: string): string[] =>
  section(heading)
    .split("\n")
    .filter((line) => line.startsWith("| `"));
const snake = (name: string): string => name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

describe("docs/api.md", () => {
  it("lists every reason with its code, when, facts and what to do, as the table has them", () => {
    const wanted = Object.entries(REASONS).map(([name, { code, retryable, when, facts, then }]) => {
      const carried = facts.length === 0 ? "–" : facts.map((fact) => `\`${fact}\``).join(", ");
      return `| \`${name}\` | ${snake(Code[code])}${retryable ? ", retryable" : ""} | ${when} | ${carried} | ${then} |`;
    });
    expect(rows("## Reasons")).toEqual(wanted);
  });

  it("lists every limit", () => {
    expect(rows("## Limits")).toEqual(
      Object.entries(LIMITS).map(([name, { value, unit }]) => `| \`${name}\` | ${value.toLocaleString("en-US")} | ${unit} |`),
    );
  });

  it("lists every operation with its kind, scope and whether its outcome is kept", () => {
    const wanted = OPERATION_KEYS.map((key) => {
      const { kind, action, recorded } = OPERATIONS[key];
      return `| \`${nameOf(key)}\` | ${isAdmin(key) ? "AdminService" : `\`${fieldOf(key)}\``} | ${kind} | ${action} | ${recorded ? "yes" : "no"} |`;
    });
    const streams = STREAM_KEYS.map(
      (key) => `| \`${nameOf(key)}\` | stream | ${STREAMS[key].kind} | ${STREAMS[key].action} | no |`,
    );
    expect(rows("## Operations")).toEqual([...wanted, ...streams]);
  });

  it.each(OPERATION_KEYS.map((key) => [nameOf(key), key] as const))(
    "shows %s by examples that are what the contract says",
    (name, key) => {
      const blocks = [...section(`### ${name}`).matchAll(/^```json\n(.*?)^```$/gms)].map((match) => match[1] ?? "");
      expect(blocks.length).toBeGreaterThanOrEqual(2);
      const method = isAdmin(key) ? AdminService.methods.find((one) => one.name === name) : undefined;
      const schemas: readonly [DescMessage, DescMessage] =
        method === undefined ? [RequestSchema, ResponseSchema] : [method.input, method.output];
      blocks.forEach((block, index) => {
        // Requests and answers take turns; "…" stands for text of no matter.
        const message = fromJsonString(schemas[index % 2] ?? RequestSchema, block, { ignoreUnknownFields: false });
        if (method === undefined && index === 0) expect(message).toMatchObject({ operation: { case: key } });
      });
    },
  );

  it.each(STREAM_KEYS.map((key) => [nameOf(key)] as const))("shows %s by a request and messages of the contract", (name) => {
    const [request, ...messages] = [...section(`### ${name}`).matchAll(/^```json\n(.*?)^```$/gms)].map((match) => match[1] ?? "");
    const method = GinService.methods.find((one) => one.name === name);
    if (method === undefined || request === undefined) throw new Error(`no example of ${name}`);
    fromJsonString(method.input, request, { ignoreUnknownFields: false });
    expect(messages.length).toBeGreaterThanOrEqual(2);
    for (const message of messages) fromJsonString(method.output, message, { ignoreUnknownFields: false });
  });
});
