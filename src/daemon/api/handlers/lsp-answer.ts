import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  LspCallSchema,
  LspEditedFileSchema,
  LspFileDiagnosticsSchema,
  LspLocationSchema,
  LspResponse,
  LspResponseSchema,
  LspServerSchema,
  LspSpanSchema,
  LspSymbolSchema,
  LspVerifiedSchema,
} from "../../../gen/gin/v1/lsp_pb.ts";
import type { Caller } from "../../base/index.ts";
import type {
  Call,
  EditedFile,
  FileDiagnostics,
  Found,
  Location,
  LspAnswer,
  ServerStatus,
  Span,
  SymbolNode,
  Verified,
} from "../../lsp/index.ts";

/** The fields of an answer. */
export type Fields = Omit<Exclude<MessageInitShape<typeof LspResponseSchema>, LspResponse>, "$typeName">;

/** An item of a list: what it is in the contract, and the paths that must be the caller's for it to be shown. */
export interface Item {
  readonly paths: readonly string[];
  readonly value: unknown;
}

/** What an answer holds: fields that stand on its first page only, and the list it pages through. */
export interface Content {
  readonly once: Fields;
  readonly items: readonly Item[];
  /** Items in all, also those the room did not keep. */
  readonly total: number;
  /** Puts a page of items into fields. */
  readonly page: (values: readonly unknown[]) => Fields;
}

/** What every page of an answer says of it. */
export function factsOf(answer: LspAnswer): Fields {
  return {
    server: answer.server,
    serverVersion: answer.serverVersion,
    serverState: answer.state,
    sha256: answer.sha256,
    generation: BigInt(answer.generation),
    partial: answer.partial,
    note: answer.note,
  };
}

/** What was found, in the contract's form. */
export function contentOf(found: Found, caller: Caller): Content {
  switch (found.kind) {
    case "locations":
      return list(
        found.locations,
        (one) => (one.outside ? [] : [one.path]),
        toLocation,
        (locations) => ({ locations }),
      );
    case "symbols":
      return list(
        { items: found.symbols.items.flatMap((node) => flat(node, 0)), total: found.symbols.total },
        ({ node }) => inside(node.location),
        ({ node, depth }) => toSymbol(node, depth),
        (symbols) => ({ symbols }),
      );
    case "diagnostics":
      return diagnosticsContent(found.files.items, found.files.total, {});
    case "check": {
      const introduced = found.introduced.map(toFileDiagnostics);
      return diagnosticsContent(found.files.items, found.files.total, { introduced, resolved: found.resolved });
    }
    case "calls":
      return list(
        found.calls,
        (one) => inside(one.location),
        toCall,
        (calls) => ({ calls }),
      );
    case "completions":
      return list(
        found.completions,
        nowhere,
        (one) => ({ ...one }),
        (completions) => ({ completions }),
      );
    case "code_actions":
      return list(
        found.actions,
        nowhere,
        (one) => ({ ...one }),
        (codeActions) => ({ codeActions }),
      );
    case "edit": {
      const { title, files } = found.plan;
      const content = list(
        { items: files, total: files.length },
        (one) => [one.path],
        toEdited,
        (edited) => ({ files: edited }),
      );
      return { ...content, once: { title } };
    }
    case "view": {
      const { path, text } = found;
      const lines = text.split(/(?<=\n)/);
      const content = list(
        { items: lines, total: found.lines },
        nowhere,
        (line) => line,
        (shown) => ({ text: shown.join("") }),
      );
      return { ...content, once: { locations: [{ path, outside: true }], lines: found.lines } };
    }
    case "hover":
      return alone({ hover: found.text, ...(found.span === undefined ? {} : { hoverSpan: toSpan(found.span) }) });
    case "signatures":
      return alone({ signatures: found.signatures.map((one) => ({ ...one, parameters: [...one.parameters] })) });
    case "servers":
      return alone({ servers: found.servers.map((one) => toServer(one, caller)) });
  }
}

/** What was found after a save. */
export function toVerified(verified: Verified): MessageInitShape<typeof LspVerifiedSchema> {
  const { references } = verified;
  return {
    ...(references === undefined ? {} : { referencesBefore: references.before, referencesAfter: references.after }),
    introduced: verified.introduced.map(toFileDiagnostics),
    resolved: verified.resolved,
    note: verified.note,
  };
}

/** A server; what it said on its standard error is for the owner. */
export function toServer(status: ServerStatus, caller: Caller): MessageInitShape<typeof LspServerSchema> {
  const { residentBytes, idleMs, stderrTail, languages, ...same } = status;
  return {
    ...same,
    languages: [...languages],
    residentBytes: BigInt(residentBytes),
    idleMs: BigInt(Math.max(0, Math.round(idleMs))),
    stderrTail: caller.scopes.has("admin") ? stderrTail : "",
  };
}

function list<T, V>(
  { items, total }: { readonly items: readonly T[]; readonly total: number },
  pathsOf: (item: T) => readonly string[],
  convert: (item: T) => V,
  page: (values: V[]) => Fields,
): Content {
  return {
    once: {},
    items: items.map((item) => ({ paths: pathsOf(item), value: convert(item) })),
    total,
    page: (values) => page(values as V[]),
  };
}

function alone(once: Fields): Content {
  return { once, items: [], total: 0, page: () => ({}) };
}

const nowhere = (): readonly string[] => [];
const inside = ({ path, outside }: Location): readonly string[] => (outside ? [] : [path]);

/** An item is one diagnostic, or a file that has none: a page may end within a file, which then goes on under the same path. */
function diagnosticsContent(files: readonly FileDiagnostics[], total: number, once: Fields): Content {
  const items = files.flatMap((file): Item[] => {
    const { diagnostics } = file;
    const parts = diagnostics.length === 0 ? [file] : diagnostics.map((one) => ({ ...file, diagnostics: [one] }));
    return parts.map((value) => ({ paths: [file.path], value }));
  });
  return { once, items, total, page: (values) => ({ diagnostics: joined(values as FileDiagnostics[]).map(toFileDiagnostics) }) };
}

function joined(parts: readonly FileDiagnostics[]): FileDiagnostics[] {
  const files: FileDiagnostics[] = [];
  for (const part of parts) {
    const last = files.at(-1);
    if (last?.path === part.path && last.server === part.server) {
      files[files.length - 1] = { ...last, diagnostics: [...last.diagnostics, ...part.diagnostics] };
    } else files.push(part);
  }
  return files;
}

function flat(node: SymbolNode, depth: number): { readonly node: SymbolNode; readonly depth: number }[] {
  return [{ node, depth }, ...node.children.flatMap((child) => flat(child, depth + 1))];
}

function toSpan({ start, end }: Span): MessageInitShape<typeof LspSpanSchema> {
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}

function toLocation({ span, ...same }: Location): MessageInitShape<typeof LspLocationSchema> {
  return { ...same, span: toSpan(span) };
}

function toSymbol(node: SymbolNode, depth: number): MessageInitShape<typeof LspSymbolSchema> {
  const { name, namePath, kind, detail, location, selection } = node;
  return { name, namePath, kind, detail, location: toLocation(location), selection: toSpan(selection), depth };
}

function toFileDiagnostics(file: FileDiagnostics): MessageInitShape<typeof LspFileDiagnosticsSchema> {
  const { path, sha256, server, diagnostics, refused } = file;
  return {
    path,
    sha256,
    server,
    diagnostics: diagnostics.map(({ span, ...same }) => ({ ...same, span: toSpan(span) })),
    reason: refused?.reason ?? "",
    reasonMessage: refused?.message ?? "",
  };
}

function toCall({ name, kind, detail, location, sites }: Call): MessageInitShape<typeof LspCallSchema> {
  return { name, kind, detail, location: toLocation(location), sites: sites.map(toLocation) };
}

function toEdited({ changes, ...same }: EditedFile): MessageInitShape<typeof LspEditedFileSchema> {
  return { ...same, changes: changes.map(({ span, newText }) => ({ span: toSpan(span), newText })) };
}
