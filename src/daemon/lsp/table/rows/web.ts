import type { ServerSpec } from "../types.ts";

/** Only files: the server does not fetch schemas by itself. */
const FILES_ONLY = { handledSchemaProtocols: ["file"] };

/** A proxy nobody listens at: what would be fetched through it is not. */
const NOBODY = "http://127.0.0.1:9";
const NO_NETWORK = { proxy: NOBODY, proxyStrictSSL: true };

/** Servers of the web's languages. */
export const webServers: readonly ServerSpec[] = [
  {
    id: "typescript",
    languages: {
      ".ts": "typescript",
      ".mts": "typescript",
      ".cts": "typescript",
      ".tsx": "typescriptreact",
      ".js": "javascript",
      ".mjs": "javascript",
      ".cjs": "javascript",
      ".jsx": "javascriptreact",
    },
    commands: [["gin:typescript/bin/tsc", "--lsp", "--stdio"]],
    install: "npm install typescript@7.0.2 (gin brings it along: install gin again)",
    markers: ["tsconfig.json", "jsconfig.json", "package.json"],
    folder: "root",
    readiness: { kind: "answers" },
    // It would have npm fetch types for what has none.
    settings: {
      typescript: { disableAutomaticTypeAcquisition: true },
      javascript: { disableAutomaticTypeAcquisition: true },
      "js/ts": { disableAutomaticTypeAcquisition: true },
    },
    untrusted: {},
    runs: "nothing: plugins named in tsconfig.json are not loaded, types are not fetched",
    wholeProject: true,
    projects: "typescript",
    shutdownParams: "none",
    // It is written in Go, and many agents who ask at once would else have it keep a third more: bench memory-lsp.
    env: { GOGC: "60" },
  },
  {
    id: "json",
    languages: { ".json": "json", ".jsonc": "jsonc", ".code-workspace": "jsonc" },
    commands: [["vscode-json-language-server", "--stdio"]],
    install: "npm install --global vscode-langservers-extracted",
    markers: [],
    folder: "root",
    readiness: { kind: "answers" },
    initializationOptions: { provideFormatter: true },
    settings: { json: { validate: { enable: true }, format: { enable: true } } },
    untrusted: { initializationOptions: FILES_ONLY },
    runs: "nothing; of a trusted workspace it fetches the schemas that files name by http, else none",
    // What a name means is decided within one file: there is nothing it would have to open.
    wholeProject: true,
    workspaceSymbols: false,
  },
  {
    id: "css",
    languages: { ".css": "css", ".scss": "scss", ".less": "less" },
    commands: [["vscode-css-language-server", "--stdio"]],
    install: "npm install --global vscode-langservers-extracted",
    markers: [],
    folder: "root",
    readiness: { kind: "answers" },
    initializationOptions: { provideFormatter: true, handledSchemas: ["file"] },
    settings: { css: { validate: true }, scss: { validate: true }, less: { validate: true } },
    untrusted: {},
    runs: "nothing",
    wholeProject: true,
    workspaceSymbols: false,
  },
  {
    id: "html",
    languages: { ".html": "html", ".htm": "html" },
    commands: [["vscode-html-language-server", "--stdio"]],
    install: "npm install --global vscode-langservers-extracted",
    markers: [],
    folder: "root",
    readiness: { kind: "answers" },
    initializationOptions: {
      provideFormatter: true,
      embeddedLanguages: { css: true, javascript: true },
      handledSchemas: ["file"],
    },
    // Without settings of its styles it fails over them and then says that there is nothing wrong.
    settings: {
      html: { validate: { scripts: true, styles: true } },
      css: { validate: true, lint: {} },
      javascript: { validate: { enable: true } },
    },
    untrusted: {},
    runs: "nothing",
    wholeProject: true,
    workspaceSymbols: false,
  },
  {
    id: "yaml",
    languages: { ".yaml": "yaml", ".yml": "yaml" },
    commands: [["yaml-language-server", "--stdio"]],
    install: "npm install --global yaml-language-server",
    markers: [],
    folder: "root",
    readiness: { kind: "answers" },
    // The catalogue and the resources of clusters would be fetched for every file.
    settings: {
      yaml: {
        validate: true,
        format: { enable: true },
        schemaStore: { enable: false },
        kubernetesCRDStore: { enable: false },
      },
    },
    // In its environment too: what is asked at first may be answered before it has read its settings.
    untrusted: {
      settings: { http: NO_NETWORK },
      env: { HTTP_PROXY: NOBODY, HTTPS_PROXY: NOBODY, http_proxy: NOBODY, https_proxy: NOBODY, NO_PROXY: "", no_proxy: "" },
    },
    runs: "nothing; of a trusted workspace it fetches the schemas that files name by http, else none",
    wholeProject: true,
    workspaceSymbols: false,
  },
];
