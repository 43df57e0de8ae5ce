import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeCommands, nodeFs, nodePrograms, systemClock, systemRandom } from "../../../src/daemon/base/index.ts";
import type { Lsp, LspAnswer, LspAsk, LspWorkspace } from "../../../src/daemon/lsp/index.ts";
import { createMirror } from "../../../src/daemon/lsp/mirror/mirror.ts";
import { createPool } from "../../../src/daemon/lsp/pool/pool.ts";
import type { Pool } from "../../../src/daemon/lsp/pool/types.ts";
import { createLsp } from "../../../src/daemon/lsp/room.ts";
import { createSession, type LaunchSpec, type Session } from "../../../src/daemon/lsp/session/index.ts";
import { launchOf } from "../../../src/daemon/lsp/table/launch.ts";
import { languageOf, SERVERS } from "../../../src/daemon/lsp/table/servers.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import { isSensitive } from "../../../src/daemon/workspace/index.ts";
import { atTeardown } from "../teardown.ts";
import { fakeSpec, silent } from "./session.ts";

const here = createRequire(import.meta.url);

/** A row for the fake server: files ending in ".fake". */
export function fakeRow(over: Partial<ServerSpec> = {}): ServerSpec {
  return {
    id: "fake",
    languages: { ".fake": "fake" },
    commands: [["fake"]],
    install: "",
    markers: [],
    folder: "root",
    readiness: { kind: "answers" },
    untrusted: {},
    runs: "nothing",
    wholeProject: true,
    ...over,
  };
}

/** A row of the real table. */
export function realRow(id: string): ServerSpec {
  const row = SERVERS.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

/** Absolute paths of the servers that npm brings for tests. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  typescript: ["typescript", "bin/tsc"],
  pyright: ["pyright", "langserver.index.js"],
  "bash-language-server": ["bash-language-server", "out/cli.js"],
  "vscode-json-language-server": ["vscode-langservers-extracted", "bin/vscode-json-language-server"],
  "vscode-css-language-server": ["vscode-langservers-extracted", "bin/vscode-css-language-server"],
  "vscode-html-language-server": ["vscode-langservers-extracted", "bin/vscode-html-language-server"],
  "yaml-language-server": ["yaml-language-server", "bin/yaml-language-server"],
};

/** Makes a room with the real pool, mirror and sessions. `options` are the fake server's, by row. */
export function openRoom(
  rows: readonly ServerSpec[],
  options: Readonly<Record<string, object>> = {},
): { readonly lsp: Lsp; readonly pool: Pool; readonly sessions: Session[] } {
  const sessions: Session[] = [];
  const pool = createPool({
    clock: systemClock,
    log: silent,
    table: rows,
    discover: ({ commands, id }) => {
      const [[name = "", ...args] = []] = commands;
      const program = PROGRAMS[id] ?? PROGRAMS[name];
      if (name === "fake") return { command: [] };
      if (program === undefined) {
        const found = (process.env["PATH"] ?? "").split(":").find((directory) => existsSync(`${directory}/${name}`));
        return found === undefined ? undefined : { command: [`${found}/${name}`, ...args] };
      }
      const [folder = "", file = ""] = program;
      return { command: [process.execPath, `${dirname(here.resolve(`${folder}/package.json`))}/${file}`, ...args] };
    },
    disabled: () => false,
    launch: (spec, found, workspace, folder): LaunchSpec => {
      if (found.command.length === 0) {
        const directory = folder === "" ? workspace.root : `${workspace.root}/${folder}`;
        return fakeSpec(options[spec.id] ?? {}, {
          server: spec.id,
          directory,
          readiness: spec.readiness,
          ...(spec.beside === undefined ? {} : { failures: spec.beside.failures }),
        });
      }
      return launchOf(spec, found, workspace, folder, {
        environment: process.env,
        path: () => (process.env["PATH"] ?? "").split(":"),
        overrides: {},
      });
    },
    session: (launch) => {
      const session = createSession(launch, {
        clock: systemClock,
        commands: nodeCommands,
        log: silent,
        processId: process.pid,
        version: "0.0.0",
      });
      sessions.push(session);
      return session;
    },
    mirror: ({ run, workspace, spec, folder, since, stop }) =>
      createMirror({
        run,
        workspace,
        folder,
        since,
        stop,
        clock: systemClock,
        server: spec.id,
        beside: spec.beside !== undefined,
        languageId: (path) => languageOf(spec, path) ?? "plaintext",
      }),
    resident: async () => new Map(),
    memoryBytes: Number.MAX_SAFE_INTEGER,
    idleMs: 600_000,
    startsAtOnce: 4,
  });
  const lsp = createLsp({
    pool,
    clock: systemClock,
    random: systemRandom,
    fs: nodeFs,
    programs: nodePrograms,
    isSensitive,
  });
  atTeardown(() => lsp.close());
  return { lsp, pool, sessions };
}

/** A question with everything that need not be said. */
export function question(workspace: LspWorkspace, action: LspAsk["action"], path: string, over: Partial<LspAsk> = {}): LspAsk {
  return {
    workspace,
    action,
    path,
    authorise: () => {},
    visible: () => true,
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    ...over,
  };
}

/** Locations as "path:line:character-line:character". */
export function placesOf({ found }: LspAnswer): readonly string[] {
  if (found.kind !== "locations") throw new Error(`found ${found.kind}`);
  return found.locations.items.map(
    ({ path, span: { start, end } }) => `${path}:${start.line}:${start.character}-${end.line}:${end.character}`,
  );
}

/** The path of a file of this repository. */
export const repositoryFile = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
