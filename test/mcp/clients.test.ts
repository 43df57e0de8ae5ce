import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/clients/sdk/index.ts";
import { TOOLS } from "../../src/mcp-bridge/index.ts";
import { ginBin } from "../helpers/gin.ts";
import { runCommand } from "../helpers/process.ts";
import { isLong } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";
import { type ForeignClient, fromNpm, installed } from "./clients.ts";
import { type Site, startSite } from "./setup.ts";

/** Installing may take minutes; the tests themselves take seconds. */
const INSTALL_MS = 300_000;

const server = (site: Site): string[] => [process.execPath, ginBin, "mcp", "--host", site.host, "--root", site.root];

const save = (path: string, text: string) => ({ edits: [{ path, expect: "absent", text }] });

describe("MCP Inspector's command line", () => {
  const inspector = {
    ...fromNpm("inspector-2.12.0", "@modelcontextprotocol/inspector@2.12.0"),
    quick: true as const,
  };

  it.for(isLong ? ["legacy", "auto", "modern"] : ["legacy", "modern"])(
    "%s: lists, reads and saves on stdio",
    { timeout: INSTALL_MS },
    async (era, context) => {
      const folder = await installed(inspector, context);
      const site = await startSite();
      const home = tempDir("home");
      const config = join(home, "config.json");
      const [command, ...args] = server(site);
      writeFileSync(config, JSON.stringify({ mcpServers: { gin: { command, args, protocolEra: era } } }));
      const inspect = async (...given: string[]): Promise<JsonObject> => {
        const program = join(folder, "node_modules", ".bin", "mcp-inspector");
        const flags = ["--cli", "--config", config, "--server", "gin", "--stored-auth-only", "--format", "json", ...given];
        const env = { HOME: home, MCP_INSPECTOR_SECRET_STORE: "memory" };
        const done = await runCommand(process.execPath, [program, ...flags], { cwd: home, env });
        expect(done.code, done.stderr).toBe(0);
        return (JSON.parse(done.stdout) as { result: JsonObject }).result;
      };
      const call = async (name: string, ...given: string[]): Promise<JsonObject> => {
        const result = await inspect("--method", "tools/call", "--tool-name", name, ...given);
        return JSON.parse((result.content as { text: string }[])[0]?.text ?? "") as JsonObject;
      };
      expect((await inspect("--method", "tools/list")).tools).toHaveLength(TOOLS.length);
      expect(await call("gin_read", "--tool-arg", "path=a.txt")).toMatchObject({ text: "hello\n" });
      const saved = await call("gin_save", "--tool-args-json", JSON.stringify(save("inspected.txt", `by ${era}\n`)));
      expect(saved).toMatchObject({ paths: [{ path: "inspected.txt" }] });
      expect(readFileSync(join(site.root, "inspected.txt"), "utf8")).toBe(`by ${era}\n`);
    },
  );
});

describe("the Python SDK", () => {
  const python: ForeignClient = {
    name: "python-2.3.0",
    files: {
      "client.py": `
import asyncio, json, sys
from mcp import Client, StdioServerParameters

async def main(mode, command):
    async with Client(StdioServerParameters(command=command[0], args=command[1:]), mode=mode) as client:
        read = await client.call_tool("gin_read", {"path": "a.txt"})
        print(read.content[0].text)
        saved = await client.call_tool("gin_save", {"edits": [{"path": "python.txt", "expect": "absent", "text": "by python\\n"}]})
        print(saved.content[0].text)

asyncio.run(main(sys.argv[1], sys.argv[2:]))
`,
    },
    steps: [
      ["python3", "-m", "venv", "venv"],
      ["venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "mcp==2.3.0"],
    ],
  };

  it.for(["auto", "legacy"])("%s: reads and saves over pipes", { timeout: INSTALL_MS }, async (mode, context) => {
    const folder = await installed(python, context);
    const site = await startSite();
    await readsAndSaves(site, [join(folder, "venv/bin/python"), join(folder, "client.py"), mode], "python.txt", "by python\n");
  });
});

describe("the Go SDK", () => {
  const go: ForeignClient = {
    name: "go-1.8.0",
    files: {
      "go.mod": "module ginclient\n\ngo 1.23\n",
      "main.go": `package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "go-client", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(os.Args[1], os.Args[2:]...)}, nil)
	if err != nil {
		panic(err)
	}
	call := func(name string, args map[string]any) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			panic(err)
		}
		fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	}
	call("gin_read", map[string]any{"path": "a.txt"})
	call("gin_save", map[string]any{"edits": []any{map[string]any{"path": "go.txt", "expect": "absent", "text": "by go\\n"}}})
	if err := session.Close(); err != nil {
		panic(err)
	}
}
`,
    },
    steps: [
      ["go", "get", "github.com/modelcontextprotocol/go-sdk/mcp@v1.8.0"],
      ["go", "build", "-o", "client", "."],
    ],
  };

  it("reads and saves over pipes", { timeout: INSTALL_MS }, async (context) => {
    const folder = await installed(go, context);
    const site = await startSite();
    await readsAndSaves(site, [join(folder, "client")], "go.txt", "by go\n");
  });
});

/** Runs a client that prints what gin_read and gin_save answered, a line each. */
async function readsAndSaves(site: Site, [command = "", ...args]: string[], path: string, text: string): Promise<void> {
  const done = await runCommand(command, [...args, ...server(site)], { cwd: tempDir("cwd") });
  expect(done.code, done.stderr).toBe(0);
  const [read, saved] = done.stdout.trim().split("\n");
  expect(JSON.parse(read ?? "")).toMatchObject({ text: "hello\n" });
  expect(JSON.parse(saved ?? "")).toMatchObject({ paths: [{ path }] });
  expect(readFileSync(join(site.root, path), "utf8")).toBe(text);
}
