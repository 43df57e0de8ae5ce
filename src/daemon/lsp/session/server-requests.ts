import type { MessageConnection } from "vscode-jsonrpc/node";
import type { ServerCapabilities } from "vscode-languageserver-protocol";
import { folderOf } from "./capabilities.ts";
import type { LaunchSpec } from "./types.ts";

/** Requests that say "ask me again": a sign, which is passed on. */
const REFRESHES = [
  "workspace/diagnostic/refresh",
  "workspace/codeLens/refresh",
  "workspace/semanticTokens/refresh",
  "workspace/inlayHint/refresh",
  "workspace/inlineValue/refresh",
  "workspace/foldingRange/refresh",
];

/** Where a capability stands in the result of `initialize`, by the method it is registered for. */
const PROVIDERS: Readonly<Record<string, keyof ServerCapabilities>> = {
  "textDocument/diagnostic": "diagnosticProvider",
  "textDocument/definition": "definitionProvider",
  "textDocument/typeDefinition": "typeDefinitionProvider",
  "textDocument/implementation": "implementationProvider",
  "textDocument/references": "referencesProvider",
  "textDocument/hover": "hoverProvider",
  "textDocument/documentSymbol": "documentSymbolProvider",
  "textDocument/prepareCallHierarchy": "callHierarchyProvider",
  "textDocument/rename": "renameProvider",
  "textDocument/codeAction": "codeActionProvider",
  "textDocument/formatting": "documentFormattingProvider",
  "textDocument/rangeFormatting": "documentRangeFormattingProvider",
  "textDocument/signatureHelp": "signatureHelpProvider",
  "textDocument/completion": "completionProvider",
  "workspace/symbol": "workspaceSymbolProvider",
};

/** Capabilities a server registered by itself, by their id. */
export class Registrations {
  readonly #byId = new Map<string, { readonly method: string; readonly options: unknown }>();

  register(params: unknown): void {
    for (const one of listIn(params, "registrations")) {
      const { id, method, registerOptions } = one;
      if (typeof id === "string" && typeof method === "string") this.#byId.set(id, { method, options: registerOptions });
    }
  }

  unregister(params: unknown): void {
    // The misspelt one is the protocol's own.
    for (const { id } of [...listIn(params, "unregisterations"), ...listIn(params, "unregistrations")]) {
      if (typeof id === "string") this.#byId.delete(id);
    }
  }

  /** Those of `initialize` with the registered ones laid over. */
  over(capabilities: ServerCapabilities): ServerCapabilities {
    const laid: Record<string, unknown> = { ...capabilities };
    for (const { method, options } of this.#byId.values()) {
      const provider = PROVIDERS[method];
      if (provider !== undefined) laid[provider] = options ?? true;
    }
    return laid;
  }

  of(method: string): unknown[] {
    return [...this.#byId.values()].filter((one) => one.method === method).map(({ options }) => options);
  }
}

/**
 * Answers what a server asks its client. Nothing it asks changes a file, opens a window or asks a person; what is not named here is answered with
 * MethodNotFound by the connection. `told` hears the refreshes, and edits a server wants made: they are refused, but whoever had it run a command may plan them.
 */
export function answerServer(
  connection: MessageConnection,
  spec: LaunchSpec,
  registrations: Registrations,
  told: (method: string, params?: unknown) => void,
): void {
  const answers: Readonly<Record<string, (params: unknown) => unknown>> = {
    "workspace/configuration": (params) =>
      listIn(params, "items").map(({ section }) => spec.settings(typeof section === "string" ? section : undefined) ?? null),
    "workspace/workspaceFolders": () => [folderOf(spec)],
    "workspace/applyEdit": (params) => {
      told("workspace/applyEdit", params);
      return { applied: false, failureReason: "gin makes edits by plans only" };
    },
    "client/registerCapability": (params) => {
      registrations.register(params);
      return null;
    },
    "client/unregisterCapability": (params) => {
      registrations.unregister(params);
      return null;
    },
    "window/workDoneProgress/create": () => null,
    "window/showMessageRequest": () => null,
    "window/showDocument": () => ({ success: false }),
  };
  for (const [method, answer] of Object.entries(answers)) connection.onRequest(method, answer);
  for (const method of REFRESHES) {
    connection.onRequest(method, () => {
      told(method);
      return null;
    });
  }
}

/** The objects of a list in params, whatever these are. */
function listIn(params: unknown, key: string): Readonly<Record<string, unknown>>[] {
  const list = typeof params === "object" && params !== null ? (params as Readonly<Record<string, unknown>>)[key] : undefined;
  return Array.isArray(list) ? list.filter((one) => typeof one === "object" && one !== null) : [];
}
