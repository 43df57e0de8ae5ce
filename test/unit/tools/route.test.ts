import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { route, signatureOf, TOOLS, templateOf, toolNamed } from "../../../src/daemon/tools/index.ts";
import { openTools } from "./site.ts";

const ALL = { most: undefined, mutating: true, network: true } as const;
const best = (need: string): string[] => route(TOOLS, need, { ...ALL, most: 3 }).matches.map(({ tool }) => tool.name);

describe("the router names", () => {
  // What was asked for by the tool's own name.
  it.each(TOOLS.map(({ name }) => [name]))("%s when it is asked for by name", (name) => {
    expect(best(`use ${name}`)[0]).toBe(name);
    expect(best(`I want ${name.replaceAll("_", " ")} here`)[0]).toBe(name);
  });

  it.for([
    ["read the file src/main.ts", "read_file"],
    ["show me the content of README.md", "read_file"],
    ["open a file and see lines 10 to 20", "read_file"],
    ["show the last 50 lines of a log file", "read_file"],
    ["read several files at once", "multi_read"],
    ["read main.go and go.mod", "multi_read"],
    ["open two files side by side", "multi_read"],
    ["create a new file with some text", "write_file"],
    ["write a new file", "write_file"],
    ["replace one exact piece of text in a file", "edit_file"],
    ["change a line of code in src/a.ts", "edit_file"],
    ["make several edits in many files in one batch", "multi_edit"],
    ["apply this patch to the repository", "apply_patch"],
    ["apply a codex patch with hunks", "apply_patch"],
    ["grep the repository for a name", "search_files"],
    ["search the code for a regex", "search_files"],
    ["look for a string in all files of the repo", "search_files"],
    ["find files named *.test.ts", "find_files"],
    ["which files match a glob pattern", "find_files"],
    ["how big is this file and what is its encoding", "stat_file"],
    ["get the checksum and size of a file", "stat_file"],
    ["list the directory tree", "list_dir"],
    ["show the folder structure", "list_dir"],
    ["what tools are available", "list_tools"],
    ["detect the language and framework of the project", "detect_project"],
    ["how is this project built and tested", "detect_project"],
    ["remember that the build needs node 22", "memory"],
    ["recall what I saved in memory", "memory"],
    ["undo my last change", "undo"],
    ["revert the file to the snapshot before", "undo"],
    ["take back what I did and restore the old version", "undo"],
    ["compare two files", "diff_files"],
    ["show the difference between old.go and new.go", "diff_files"],
    ["rename a symbol across many files with a regex replace", "search_replace"],
    ["bulk replace oldName with newName across the repo", "search_replace"],
    ["go to the definition of a function", "lsp_query"],
    ["find all references of a symbol", "lsp_query"],
    ["several lsp queries in a batch: hover and definition", "lsp_batch"],
    ["run the test suite in a shell", "run_shell"],
    ["execute a bash command", "run_shell"],
    ["run a plan with conditional steps", "run_plan"],
    ["fetch the web page at https://example.com", "web_fetch"],
    ["search the web for release notes", "web_search"],
  ] as const)("for %j: %s", ([need, name]) => {
    expect(best(need)[0]).toBe(name);
  });

  it.each(["", " ", "hello", "make it nicer", "what do you think", "xyzzy", "日本語"])("nothing for %j", (need) => {
    expect(route(TOOLS, need, ALL)).toEqual({ confidence: "none", margin: 0, matches: [] });
  });
});

describe("the router's answer", () => {
  it("is the same for the same need, within its bounds, ordered, whatever the need is", () => {
    const seed = Date.now();
    console.info(`route: seed ${seed}`);
    const words = fc.constantFrom(
      "read",
      "file",
      "files",
      "search",
      "replace",
      "undo",
      "web",
      "the",
      "a",
      "diff",
      "_",
      "run",
      "list",
      "x.ts",
    );
    const need = fc.oneof(
      fc.array(words, { maxLength: 12 }).map((list) => list.join(" ")),
      fc.string({ unit: "binary", maxLength: 200 }),
    );
    fc.assert(
      fc.property(need, fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }), (text, most) => {
        const answer = route(TOOLS, text, { ...ALL, most });
        expect(route(TOOLS, text, { ...ALL, most })).toEqual(answer);
        expect(answer.matches.length).toBeLessThanOrEqual(most ?? 2);
        const scores = answer.matches.map(({ points }) => points);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
        for (const score of scores) expect(score).toBeGreaterThanOrEqual(8);
        expect(answer.confidence === "none").toBe(answer.matches.length === 0);
        if (most === undefined) expect(answer.matches.length === 2).toBe(answer.confidence === "ambiguous");
      }),
      { seed, numRuns: 300 },
    );
  });

  it("leaves out what changes something, or the network, when it is told to", () => {
    const narrow = { most: 8, mutating: false, network: false };
    for (const need of ["edit a file", "search the web", "undo", "run a shell command", "fetch a url", "write_file"]) {
      for (const { tool } of route(TOOLS, need, narrow).matches) expect(tool.risk).toBe("read_only");
    }
  });

  it("through the api: route id, template, signature, schema and notes as they are asked for", async () => {
    const site = await openTools();
    const { body } = await site.api.call("RouteTool", {
      need: "read the file a.txt",
      include_call: true,
      include_signature: true,
      include_schema: true,
    });
    expect(body).toMatchObject({ query: "read the file a.txt", confidence: "high", adaptive: true, notes: [] });
    expect(body.route_id).toMatch(/^[0-9a-f]{32}$/);
    expect(body.score_margin).toBeGreaterThan(3);
    const [match] = body.matches;
    expect(match).toMatchObject({
      name: "read_file",
      mutating: false,
      risk: "read_only",
      call: { path: "<required>" },
      fill: ["/path"],
      available: true,
      why_not: "",
    });
    expect(match.reason).toContain("fits what it is for");
    expect(match.schema.required).toEqual(["path"]);
    expect(match.signature).toMatch(/^read_file\(path:string,cursor\?:string,/);
    const bare = (await site.api.call("RouteTool", { need: "read the file a.txt" })).body.matches[0];
    expect([bare.signature, bare.fill, bare.call, bare.schema]).toEqual(["", [], undefined, undefined]);
  });

  it("says of a tool that cannot run here that it cannot", async () => {
    const site = await openTools();
    const { body } = await site.api.call("RouteTool", { need: "execute a bash command in a shell" });
    expect(body.matches[0]).toMatchObject({ name: "run_shell", mutating: true, available: false });
    expect(body.notes.at(-1)).toContain("run_shell cannot run here");
  });

  it("refuses a need that is empty or too long, and a number of tools out of bounds", async () => {
    const site = await openTools();
    for (const [request, reason] of [
      [{ need: "  " }, "INVALID_REQUEST"],
      [{ need: "x".repeat(4_097) }, "TOO_LARGE"],
      [{ need: "read", max_tools: 0 }, "INVALID_REQUEST"],
      [{ need: "read", max_tools: 9 }, "INVALID_REQUEST"],
    ] as const) {
      expect([request.need.slice(0, 5), (await site.api.call("RouteTool", request)).error.reason]).toEqual([
        request.need.slice(0, 5),
        reason,
      ]);
    }
    expect((await site.api.call("RouteTool", { need: "x".repeat(4_096) })).body.confidence).toBe("none");
    expect((await site.api.call("RouteTool", { need: "read file", max_tools: 8 })).body.matches.length).toBeGreaterThan(1);
  });
});

describe("templates and signatures", () => {
  it("every tool's template has what is required and nothing else, and names what to fill in", () => {
    for (const { schema } of TOOLS) {
      const { call, fill } = templateOf(schema);
      expect(Object.keys(call).sort()).toEqual([...(schema.required ?? [])].sort());
      const places = JSON.stringify(call).split('"<required>"').length - 1;
      expect(fill).toHaveLength(places);
    }
  });

  it("nested arguments are written out to the place that is to be filled in", () => {
    expect(templateOf(toolNamed("multi_read").schema)).toEqual({
      call: { files: [{ path: "<required>" }] },
      fill: ["/files/0/path"],
    });
  });

  it("a signature has the required arguments first, then the others by name", () => {
    expect(signatureOf("diff_files", toolNamed("diff_files").schema)).toBe(
      "diff_files(path_a:string,path_b:string,context_lines?:integer=3)",
    );
    expect(signatureOf("multi_read", toolNamed("multi_read").schema)).toBe("multi_read(files:json)");
    expect(signatureOf("read_file", toolNamed("read_file").schema)).toContain(
      'truncate?:enum(head|tail|middle|none|smart)="head"',
    );
  });
});
