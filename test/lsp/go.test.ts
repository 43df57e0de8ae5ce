import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DiskWorkspace } from "../helpers/lsp/disk-workspace.ts";
import { openRoom, question, realRow } from "../helpers/lsp/room.ts";
import { missing, wholePath } from "../helpers/lsp/servers.ts";
import { tempDir } from "../helpers/temp.ts";

it("Go's server says all it finds of a file at once: what its analyses find too, and of files in no package", async (ctx) => {
  const lacks = missing("gopls") ?? missing("go");
  if (lacks !== undefined) return ctx.skip(lacks);
  const path = process.env.PATH;
  process.env.PATH = wholePath;
  try {
    const workspace = new DiskWorkspace(tempDir("go"), {
      "go.mod": "module example.com/x\n\ngo 1.21\n",
      "printed.go": 'package x\n\nimport "fmt"\n\nfunc F() { fmt.Printf("%d", "s") }\n',
      "tagged/tagged.go": '//go:build custom\n\npackage tagged\n\nvar X int = "s"\n',
    });
    const { lsp } = openRoom([realRow("gopls")]);
    const codes = async (file: string) => {
      const { found } = await lsp.ask(question(workspace, "diagnostics", file, { timeoutMs: 60_000 }));
      return found.kind === "diagnostics" && found.files.items.flatMap(({ diagnostics }) => diagnostics.map((one) => one.source));
    };
    expect(await codes("printed.go")).toEqual(["printf"]);
    expect(await codes("tagged/tagged.go")).toEqual(["compiler"]);
  } finally {
    process.env.PATH = path;
  }
});

it("Go's server whose go list was killed knows only what is open: what it finds of the project is partial", async (ctx) => {
  const lacks = missing("gopls") ?? missing("go");
  if (lacks !== undefined) return ctx.skip(lacks);
  const programs = tempDir("go-programs");
  const once = join(programs, "once");
  const path = process.env.PATH;
  // Another go before the real one: its first look at the packages ends as one that the system killed.
  const killed = `if [ "$1" = list ] && [[ "$*" == *-deps* ]] && [ ! -e ${once} ]; then touch ${once}; kill -9 $$; fi`;
  writeFileSync(join(programs, "go"), `#!/bin/bash\n${killed}\nPATH="\${PATH#*:}" exec go "$@"\n`);
  chmodSync(join(programs, "go"), 0o755);
  process.env.PATH = `${programs}:${wholePath}`;
  try {
    const workspace = new DiskWorkspace(tempDir("go"), {
      "go.mod": "module example.com/x\n\ngo 1.21\n",
      "a/a.go": "package a\n\nfunc F() {}\n",
      "main.go": 'package main\n\nimport "example.com/x/a"\n\nfunc main() { a.F() }\n',
    });
    const { lsp } = openRoom([realRow("gopls")]);
    const ask = async () => lsp.ask(question(workspace, "references", "a/a.go", { line: 3, character: 6, timeoutMs: 60_000 }));
    const answer = await ask();
    const count = answer.found.kind === "locations" ? answer.found.locations.total : -1;
    expect([answer.partial, count < 2 || answer.note.includes("could not load the whole project")]).toEqual([true, true]);
    await lsp.ask(question(workspace, "restart", "", { server: "gopls", timeoutMs: 60_000 }));
    const again = await ask();
    expect([again.partial, again.found.kind === "locations" && again.found.locations.total]).toEqual([false, 2]);
  } finally {
    process.env.PATH = path;
  }
});
