import { build, type Metafile } from "esbuild";
import { expect, test } from "vitest";
import { repo } from "../../helpers/repo.ts";

/** What `gin read` loads: the entry, its command, and what these import statically. */
function loaded(meta: Metafile, starts: readonly string[]): { readonly inputs: string[]; readonly builtins: string[] } {
  const outputs = Object.entries(meta.outputs);
  const queue = outputs
    .filter(([, { entryPoint }]) => entryPoint !== undefined && starts.includes(entryPoint))
    .map(([name]) => name);
  expect(queue.length).toBe(starts.length);
  const seen = new Set<string>();
  const builtins = new Set<string>();
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const { path, kind, external } of meta.outputs[name]?.imports ?? []) {
      if (kind === "dynamic-import") continue;
      if (external === true) builtins.add(path);
      else queue.push(path);
    }
  }
  const inputs = [...seen].flatMap((name) => Object.keys(meta.outputs[name]?.inputs ?? {}));
  return { inputs: [...new Set(inputs)].sort(), builtins: [...builtins].sort() };
}

test("gin read loads node:http, a few small built-ins and our own code: no protobuf, no Connect, no other command", async () => {
  const { metafile } = await build({
    absWorkingDir: repo,
    entryPoints: ["src/clients/cli/main.ts"],
    outdir: "dist",
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    define: { __GIN_VERSION__: '"0.0.0"' },
    logLevel: "error",
  });
  const { inputs, builtins } = loaded(metafile, ["src/clients/cli/main.ts", "src/clients/cli/commands/read.ts"]);
  expect(inputs.filter((path) => !/^src\/(clients\/(sdk|cli)|paths)\//.test(path))).toEqual([]);
  expect(inputs.filter((path) => path.includes("/commands/"))).toEqual(["src/clients/cli/commands/read.ts"]);
  expect(inputs.filter((path) => /\/(client|decode|protobuf|start|report|help)\.ts$/.test(path))).toEqual([]);
  const allowed = ["node:crypto", "node:fs", "node:http", "node:os", "node:path", "node:url", "node:util"];
  expect(builtins.filter((name) => !allowed.includes(name))).toEqual([]);
});
