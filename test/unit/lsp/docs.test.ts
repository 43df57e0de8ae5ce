import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SERVERS } from "../../../src/daemon/lsp/table/servers.ts";
import { repo } from "../../helpers/repo.ts";

it("docs/lsp.md has every server with its files, program, install command, and what it may run", () => {
  const text = readFileSync(join(repo, "docs/lsp.md"), "utf8");
  const wanted = SERVERS.map(({ id, languages, commands, install, untrusted, runs }) => {
    const files = Object.keys(languages).map((name) => `\`${name}\``);
    const program = (commands[0] ?? []).join(" ").replace("gin:", "");
    const started = untrusted === "refused" ? "not started" : "started";
    return `| \`${id}\` | ${files.join(" ")} | \`${program}\` | ${install} | ${started} | ${runs} |`;
  });
  expect(text.split("\n").filter((line) => line.startsWith("| `"))).toEqual(wanted);
});
