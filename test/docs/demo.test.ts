import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readable } from "../../src/clients/cli/demo/json.ts";
import { tellingStage } from "../../src/clients/cli/demo/stage.ts";
import { tellStory } from "../../src/clients/cli/demo/story.ts";
import { Output } from "../../src/clients/cli/output.ts";
import type { JsonObject, JsonValue } from "../../src/clients/sdk/index.ts";
import { ginBin, runGin } from "../helpers/gin.ts";
import { ended, spawnOwned } from "../helpers/process.ts";
import { scaled } from "../helpers/scale.ts";
import { tempDir } from "../helpers/temp.ts";

/** Where a demo puts everything it makes. */
function place(): { readonly env: Record<string, string>; left(): string[] } {
  const [temp, run] = [tempDir("demo"), tempDir("run")];
  return {
    env: { TMPDIR: temp, XDG_RUNTIME_DIR: run, GIN_REQUIRE_LEASE: "always" },
    left: () =>
      [
        ...readdirSync(temp),
        ...readdirSync(run, { recursive: true }).filter((name) => String(name).endsWith(".sock")),
        ...processesIn(temp),
      ].map(String),
  };
}

/** Command lines that name a directory. */
function processesIn(dir: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(join("/proc", pid, "cmdline"), "utf8");
      } catch {
        // It ended between the two looks.
        return "";
      }
    })
    .filter((line) => line.includes(dir));
}

/** Each message that was printed: who spoke, and what. */
function messages(text: string): { readonly who: string; readonly message: JsonObject }[] {
  const found = text.matchAll(/^(\w+) (?:→|←) ([\s\S]*?)(?=^(?:gin ←|[✓✗]))/gm);
  return [...found].map(([, who = "", json = ""]) => ({ who, message: JSON.parse(json) as JsonObject }));
}

describe("gin demo", () => {
  test("tells two agents' story with real messages, each fact held, and leaves nothing behind", async () => {
    const { env, left } = place();
    const done = await runGin(["demo"], { host: "/nowhere", env });
    expect(done.code, done.stdout + done.stderr).toBe(0);
    expect(done.stdout).toBe(stripVTControlCharacters(done.stdout));
    expect(left()).toEqual([]);
    const said = messages(done.stdout);
    const operations = said.filter(({ who }) => who !== "gin").map(({ who, message }) => `${who} ${Object.keys(message)[0]}`);
    expect(operations).toEqual([
      "alice read_path",
      "bob read_path",
      "alice acquire_lease",
      "bob acquire_lease",
      "alice save",
      "alice release_lease",
      "bob save",
      "bob save",
      "bob write_annotation",
      "alice origin",
      "bob request_outcome",
      "alice undo",
      "alice read_path",
      "bob list_annotations",
      "alice list_checkpoints",
    ]);
    const answers = said.filter(({ who }) => who === "gin").map(({ message }) => Object.entries(message)[0]);
    expect(answers.map((answer) => (answer?.[0] === "error" ? (answer[1] as JsonObject).reason : answer?.[0]))).toEqual([
      ...["read_path", "read_path", "acquire_lease", "LEASE_HELD", "save", "release_lease", "STALE_CONTENT", "save"],
      ...["write_annotation", "origin", "request_outcome", "undo", "read_path", "list_annotations", "list_checkpoints"],
    ]);
    const last = answers[12]?.[1] as JsonObject;
    expect(last.text).toContain("sum += item.price;\n");
    expect(last.text).toContain("toFixed(2)");
    expect(done.stdout.match(/^✓ /gm)).toHaveLength(17);
    expect(done.stdout).not.toContain("✗");
  });

  test("interrupted in the middle, it still leaves nothing behind", async () => {
    const { env, left } = place();
    const child = spawnOwned(process.execPath, [ginBin, "demo"], { env });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("alice reads")) child.kill("SIGINT");
    });
    expect(await ended(child)).toEqual({ code: 130, signal: null });
    expect(left()).toEqual([]);
  });

  test("interrupted while its daemon starts, it leaves nothing behind either", async () => {
    const { env, left } = place();
    const child = spawnOwned(process.execPath, [ginBin, "demo"], { env });
    // Its daemon is the first process that names the directory, and far from having told its id.
    await expect.poll(() => left().length, { interval: 2, timeout: 10_000 }).toBeGreaterThan(1);
    child.kill("SIGINT");
    expect(await ended(child)).toEqual({ code: 130, signal: null });
    expect(left()).toEqual([]);
  });

  test("an answer that is not as told ends it", async () => {
    let text = "";
    const out = new Output(() => ({ write: (data) => (text += String(data)) }), {});
    const stage = tellingStage(out, () => Promise.resolve({ read_path: { sha256: "no hash" } }));
    await expect(tellStory(stage)).rejects.toThrow("not as told: she has the text");
    expect(text).toMatch(/^✗ she has the text/m);
  });

  test("what it prints is JSON, with colours on a terminal alone", () => {
    const terminal = new Output(() => ({ write: () => {}, isTTY: true }), {});
    const pipe = new Output(() => ({ write: () => {} }), {});
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = readable(value as JsonValue, pipe);
        expect(JSON.parse(plain)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(readable(value as JsonValue, terminal).replace(/\x1b\[\d+m/g, "")).toBe(plain);
      }),
      { numRuns: scaled(300) },
    );
    expect(readable({ a: "b" }, terminal)).toContain("\x1b[32m");
  });
});
