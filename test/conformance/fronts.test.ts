import { beforeAll, describe, expect, it } from "vitest";
import { isLong } from "../helpers/scale.ts";
import { type Site, startSite } from "../mcp/setup.ts";
import { type Case, loadCases } from "./corpus.ts";
import { faultsOf } from "./faults.ts";
import { overGrpc } from "./grpc.ts";
import { overCli, overMcp } from "./transports.ts";

/** Every how many-th case is a process of its own in `npm test`. */
const SAMPLED = 23;

describe("one daemon", () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  });

  it("CallTool over gRPC answers with the same envelopes", { timeout: 100_000 }, async () => {
    const all = loadCases().flatMap(([, some]) => some.filter(isUnicode));
    const cases = isLong ? all : all.filter((_one, index) => index % 3 === 0);
    expect(await faultsOf(overGrpc(site), cases)).toEqual({});
  });

  it("the MCP profile tools answers with the same envelopes", { timeout: 100_000 }, async () => {
    const transport = await overMcp(site);
    // Compression is the caller's choice there, and no argument.
    const cases = loadCases().flatMap(([, some]) => some.filter(overTransports));
    expect(await faultsOf(transport, cases)).toEqual({});
  });

  it("gin tool prints the same envelopes", { timeout: 100_000 }, async () => {
    const all = loadCases().flatMap(([, some]) => some.filter(overTransports));
    const cases = isLong ? all : all.filter((_one, index) => index % SAMPLED === 0);
    expect(cases.length).toBeGreaterThan(20);
    expect(await faultsOf(overCli(site), cases)).toEqual({});
  });
});

/** Arguments that are refused before a daemon hears of them have a test of their own: test/kernel/cli/tool.test.ts, test/mcp/profiles.test.ts. */
function overTransports({ args, compress }: Case): boolean {
  return compress === undefined && isUnicode({ args });
}

/** Whether protobuf can carry its arguments: it has no half characters. */
function isUnicode({ args }: Pick<Case, "args">): boolean {
  return !/\\ud[89a-f]/i.test(JSON.stringify(args));
}
