import type { ServerSpec } from "../types.ts";

/** Servers of shell and Lua. */
export const scriptServers: readonly ServerSpec[] = [
  {
    id: "lua",
    languages: { ".lua": "lua" },
    commands: [["lua-language-server"]],
    install: "brew install lua-language-server, or unpack a release and put its bin in PATH",
    markers: [".luarc.json", ".luarc.jsonc", "selene.toml", "stylua.toml"],
    folder: "root",
    readiness: { kind: "progress", matches: /^Loading workspace/, graceMs: 2_000 },
    settings: { Lua: { workspace: { checkThirdParty: false }, telemetry: { enable: false } } },
    // A plugin that .luarc.json names is loaded only when a person agrees to the question it puts, and here nobody does.
    untrusted: { settings: { Lua: { runtime: { plugin: "" } } } },
    runs: "nothing: plugins that .luarc.json names need a person's yes, which gin never gives",
    wholeProject: true,
  },
  {
    id: "bash",
    languages: { ".sh": "shellscript", ".bash": "shellscript", ".bashrc": "shellscript", ".bash_profile": "shellscript" },
    commands: [["bash-language-server", "start"]],
    install: "npm install --global bash-language-server",
    markers: [],
    folder: "root",
    readiness: {
      kind: "notification",
      method: "window/logMessage",
      ready: (params) =>
        /BackgroundAnalysis: (?:Completed|skipping|stopped|failed resolving)/.test(
          String((params as { readonly message?: unknown } | null)?.message),
        ) || undefined,
    },
    settings: { bashIde: { explainshellEndpoint: "", enableSourceErrorDiagnostics: false } },
    untrusted: {},
    runs: "shellcheck and shfmt where they are installed; scripts are read, never run",
    // The first 500 files are looked at.
    wholeProject: false,
  },
];
