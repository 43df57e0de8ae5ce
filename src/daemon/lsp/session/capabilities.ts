import { pathToFileURL } from "node:url";
import type {
  ClientCapabilities,
  InitializeParams,
  MarkupKind,
  SymbolKind,
  WorkspaceFolder,
} from "vscode-languageserver-protocol";
import type { Encoding, LaunchSpec } from "./types.ts";

/** In our order of preference: UTF-16 is what every server was tried with, and costs us nothing. Some (tsc) take UTF-8 whenever it is there. */
export const ENCODINGS: readonly Encoding[] = ["utf-16", "utf-8", "utf-32"];

const TEXT: MarkupKind[] = ["markdown", "plaintext"];
const SYMBOL_KINDS = Array.from({ length: 26 }, (_, index) => (index + 1) as SymbolKind);

/** What gin can do; nothing it does not use, so that no server counts on it. */
const CAPABILITIES: ClientCapabilities = {
  // rust-analyzer says whether it is done only to clients that say so.
  experimental: { serverStatusNotification: true },
  general: {
    positionEncodings: [...ENCODINGS],
    staleRequestSupport: { cancel: true, retryOnContentModified: [] },
  },
  workspace: {
    // Edits come by plans only: a server that may not apply them puts them into its answers.
    applyEdit: false,
    // A plan is one save: all of it or nothing.
    workspaceEdit: {
      documentChanges: true,
      resourceOperations: ["create", "rename", "delete"],
      failureHandling: "transactional",
      normalizesLineEndings: false,
    },
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    didChangeConfiguration: { dynamicRegistration: true },
    configuration: true,
    workspaceFolders: true,
    symbol: { symbolKind: { valueSet: SYMBOL_KINDS }, tagSupport: { valueSet: [1] } },
    diagnostics: { refreshSupport: true },
  },
  window: {
    workDoneProgress: true,
    showMessage: { messageActionItem: { additionalPropertiesSupport: false } },
    showDocument: { support: false },
  },
  textDocument: {
    synchronization: { willSave: false, willSaveWaitUntil: false, didSave: true },
    publishDiagnostics: {
      relatedInformation: true,
      versionSupport: true,
      tagSupport: { valueSet: [1, 2] },
      codeDescriptionSupport: true,
      dataSupport: true,
    },
    // Registered by pyright, or not offered at all.
    diagnostic: { dynamicRegistration: true, relatedDocumentSupport: true, relatedInformation: true, dataSupport: true },
    definition: { linkSupport: false },
    declaration: { linkSupport: false },
    typeDefinition: { linkSupport: false },
    implementation: { linkSupport: false },
    references: {},
    callHierarchy: {},
    hover: { contentFormat: TEXT },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true, symbolKind: { valueSet: SYMBOL_KINDS } },
    signatureHelp: {
      signatureInformation: {
        documentationFormat: TEXT,
        parameterInformation: { labelOffsetSupport: false },
        activeParameterSupport: true,
      },
      contextSupport: true,
    },
    completion: {
      contextSupport: true,
      completionItem: { snippetSupport: false, documentationFormat: TEXT, insertReplaceSupport: false },
    },
    codeAction: {
      codeActionLiteralSupport: {
        codeActionKind: {
          valueSet: [
            "",
            "quickfix",
            "refactor",
            "refactor.extract",
            "refactor.inline",
            "refactor.move",
            "refactor.rewrite",
            "source",
            "source.organizeImports",
            "source.fixAll",
          ],
        },
      },
      isPreferredSupport: true,
      disabledSupport: true,
      dataSupport: true,
      resolveSupport: { properties: ["edit"] },
    },
    rename: { prepareSupport: true, prepareSupportDefaultBehavior: 1 },
    formatting: {},
    rangeFormatting: {},
  },
};

/** The one folder a server is started for. */
export function folderOf({ directory }: Pick<LaunchSpec, "directory">): WorkspaceFolder {
  return { uri: pathToFileURL(directory).href, name: directory.slice(directory.lastIndexOf("/") + 1) };
}

/** Params of `initialize`. `processId` is ours: a server that watches it ends when we do. */
export function initializeParams(
  spec: LaunchSpec,
  ours: { readonly processId: number; readonly version: string },
): InitializeParams {
  const folder = folderOf(spec);
  return {
    processId: ours.processId,
    clientInfo: { name: "gin", version: ours.version },
    locale: "en",
    rootPath: spec.directory,
    rootUri: folder.uri,
    workspaceFolders: [folder],
    initializationOptions: spec.initializationOptions,
    capabilities: CAPABILITIES,
    trace: "off",
  };
}
