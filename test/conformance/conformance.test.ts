import { beforeAll, describe, expect, it } from "vitest";
import { loadCases } from "./corpus.ts";
import { faultsOf } from "./faults.ts";
import { overApi, type Transport } from "./transports.ts";

describe("CallTool", () => {
  let transport: Transport;
  beforeAll(async () => {
    transport = await overApi();
  });
  it.each(loadCases())("%s answers as the corpus says", { timeout: 60_000 }, async (tool, cases) => {
    const over = tool.startsWith("lsp_") ? await overApi(true) : transport;
    expect(await faultsOf(over, cases)).toEqual({});
  });
});
