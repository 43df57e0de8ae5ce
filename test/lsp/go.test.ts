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
