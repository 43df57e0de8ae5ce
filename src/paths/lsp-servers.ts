/** Ids of the language servers of the table, in its order; a test compares them. */
export const LSP_SERVER_IDS = [
  "typescript",
  "pyright",
  "basedpyright",
  "pylsp",
  "gopls",
  "rust-analyzer",
  "clangd",
  "jdtls",
  "zls",
  "lua",
  "bash",
  "json",
  "css",
  "html",
  "yaml",
] as const;

/** Id of a language server. */
export type LspServerId = (typeof LSP_SERVER_IDS)[number];

/** What the owner says of one language server instead of the table. Every field may be left out. */
export interface LspServerSetting {
  /** Absolute path of the program. */
  readonly command?: string;
  /** Its arguments; default: those of the table. */
  readonly args?: readonly string[];
  /** Laid over its environment. */
  readonly env?: { readonly [name: string]: string };
  /** Laid over its settings, by section: {"python": {"analysis": {…}}}. */
  readonly settings?: { readonly [section: string]: unknown };
  /** Laid over its initialization options. */
  readonly initialization_options?: { readonly [name: string]: unknown };
  /** Not used at all. */
  readonly disabled?: boolean;
}

/** Settings of language servers by id. */
export type LspServerSettings = { readonly [K in LspServerId]?: LspServerSetting };

const FIELDS: { readonly [K in keyof LspServerSetting]-?: (value: unknown) => string } = {
  command: (value) =>
    typeof value === "string" && value.startsWith("/") && !value.includes("\0") ? "" : "must be an absolute path",
  args: (value) => (Array.isArray(value) && value.every(isText) ? "" : "must be a list of texts"),
  env: (value) =>
    isObject(value) && Object.entries(value).every(([name, text]) => /^[^=\0]+$/.test(name) && isText(text))
      ? ""
      : "must be an object of texts by name",
  settings: (value) => (isObject(value) ? "" : "must be an object"),
  initialization_options: (value) => (isObject(value) ? "" : "must be an object"),
  disabled: (value) => (typeof value === "boolean" ? "" : "must be true or false"),
};

/** What is wrong with a value of the setting lsp_servers, naming the place; "" when nothing is. */
export function faultOfLspServers(value: unknown): string {
  if (!isObject(value)) return "must be an object of servers by id";
  for (const [id, setting] of Object.entries(value)) {
    if (!LSP_SERVER_IDS.some((known) => known === id)) return `has no server "${id}"; there are ${LSP_SERVER_IDS.join(", ")}`;
    if (!isObject(setting)) return `${id} must be an object`;
    for (const [field, given] of Object.entries(setting)) {
      const check = Object.hasOwn(FIELDS, field) ? FIELDS[field as keyof LspServerSetting] : undefined;
      if (check === undefined) return `${id} has no "${field}"; it may have ${Object.keys(FIELDS).join(", ")}`;
      const fault = check(given);
      if (fault !== "") return `${id}.${field} ${fault}`;
    }
  }
  return "";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
