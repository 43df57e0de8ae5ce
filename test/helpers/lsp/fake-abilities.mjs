// What the fake server can do for its toy language, by searching words.

import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";
import { declarationsOf, linesOf, offsetAt, rangeAt, symbolsOf, wordAt, wordsOf } from "./fake-text.mjs";

/** Capabilities and handlers by method. */
export function abilities({ files, encoding, options, notify }) {
  const { sync = "incremental", diagnostics = "pull" } = options;
  const pulls = diagnostics === "pull" || diagnostics === "both";
  const pushes = diagnostics === "push" || diagnostics === "both";

  const textOf = (uri) => {
    const known = files.known(uri);
    if (known === null) throw Object.assign(new Error("no such document"), { code: -32602 });
    return known.text;
  };
  const asked = ({ textDocument: { uri }, position }) => {
    const text = textOf(uri);
    return wordAt(text, offsetAt(text, position, encoding));
  };
  const place = (uri, text, { name, at }) => ({ uri, range: rangeAt(text, at, at + name.length, encoding) });
  const outside = () => {
    const at = String(options.outside);
    return { uri: at.includes("://") ? at : pathToFileURL(at).href, range: rangeAt("", 0, 0, encoding) };
  };

  const declared = (name) =>
    files.all().flatMap(([uri, text]) =>
      declarationsOf(text)
        .filter((found) => found.name === name)
        .map((found) => ({ ...place(uri, text, found), line: linesOf(text)[found.line] })),
    );
  const used = (name) =>
    files.all().flatMap(([uri, text]) =>
      wordsOf(text)
        .filter((word) => word.name === name)
        .map((word) => place(uri, text, word)),
    );
  const definition = (params) => {
    const word = asked(params);
    if (word === undefined) return [];
    if (word.name.startsWith("outside_") && options.outside !== undefined) return [outside()];
    return declared(word.name).map(({ uri, range }) => ({ uri, range }));
  };

  function problems(text) {
    return wordsOf(text)
      .filter(({ name }) => /^undefined_\w+$/.test(name) && declared(name).length === 0)
      .map(({ name, at }) => ({
        range: rangeAt(text, at, at + name.length, encoding),
        severity: 1,
        code: "undefined-name",
        source: "fake",
        message: `${name} is not defined`,
        data: { name },
      }));
  }
  /** What the last push of a name would have said, by name. */
  const before = new Map();
  let failing = options.beside?.fails ?? 0;
  /** As one with threads: what began with the text before is said after what is said of this one, and as often as there are such. */
  const pushBeside = (uri, say, items) => {
    const old = before.get(uri);
    const failed = failing > 0;
    if (failed) failing -= 1;
    const now = () => {
      if (failed) process.stderr.write(`failed over ${items.length} problems\n`);
      if (failed) notify("textDocument/publishDiagnostics", { uri, diagnostics: [] });
      else say();
    };
    before.set(uri, now);
    setTimeout(now, options.pushDelayMs ?? 0);
    if (old !== undefined) for (const ms of options.beside.oldMs ?? []) setTimeout(old, ms);
  };
  const push = (uri) => {
    if (!pushes) return;
    const document = files.open.get(uri);
    const items = document === undefined ? [] : problems(document.text);
    const { pushVersion = "right", pushDelayMs = 0 } = options;
    const version =
      document === undefined || pushVersion === "none" ? undefined : document.version - (pushVersion === "wrong" ? 1 : 0);
    const say = () =>
      notify("textDocument/publishDiagnostics", { uri, ...(version === undefined ? {} : { version }), diagnostics: items });
    if (options.beside !== undefined) pushBeside(uri, say, items);
    else if (pushDelayMs > 0) setTimeout(say, pushDelayMs);
    else say();
  };

  function rename(params) {
    const word = asked(params);
    if (word === undefined) throw Object.assign(new Error("nothing to rename here"), { code: -32602 });
    const { uri } = params.textDocument;
    const { newName } = params;
    const byUri = new Map();
    for (const found of used(word.name)) {
      byUri.set(found.uri, [...(byUri.get(found.uri) ?? []), { range: found.range, newText: newName }]);
    }
    const documentChanges = [...byUri].map(([at, edits]) => ({
      textDocument: { uri: at, version: newName === "wrong_version" ? 99_999 : (files.open.get(at)?.version ?? null) },
      edits: newName === "overlapping" ? [...edits, ...edits] : edits,
    }));
    if (newName === "edit_outside") {
      documentChanges.push({
        textDocument: { uri: outside().uri, version: null },
        edits: [{ range: outside().range, newText: "x" }],
      });
    }
    if (newName === "with_resources") {
      documentChanges.push(
        { kind: "create", uri: `${uri}.made` },
        {
          textDocument: { uri: `${uri}.made`, version: null },
          edits: [{ range: rangeAt("", 0, 0, encoding), newText: `def ${newName}\n` }],
        },
        { kind: "rename", oldUri: uri, newUri: `${uri}.renamed` },
      );
    }
    return { documentChanges };
  }

  const caller = (uri, text, at) => {
    const found = declarationsOf(text).filter((one) => one.at <= at && one.kind === "def");
    return found.length === 0 ? undefined : item(uri, text, found.at(-1));
  };
  const item = (uri, text, found) => ({
    name: found.name,
    kind: found.kind === "class" ? 5 : 12,
    uri,
    range: rangeAt(text, found.start, found.at + found.name.length, encoding),
    selectionRange: rangeAt(text, found.at, found.at + found.name.length, encoding),
  });

  const handlers = {
    "textDocument/didOpen"(params) {
      files.didOpen(params);
      push(params.textDocument.uri);
    },
    "textDocument/didChange"(params) {
      files.didChange(params);
      push(params.textDocument.uri);
    },
    "textDocument/didClose"(params) {
      files.didClose(params);
      push(params.textDocument.uri);
    },
    "workspace/didChangeWatchedFiles"(params) {
      files.didChangeWatched(params);
      for (const uri of files.open.keys()) push(uri);
    },
    "workspace/didChangeConfiguration": () => {},
    "$/setTrace": () => {},
    "textDocument/definition": definition,
    "textDocument/typeDefinition": definition,
    "textDocument/implementation": definition,
    "textDocument/references"(params) {
      const word = asked(params);
      if (word === undefined) return [];
      const at = params.context?.includeDeclaration === false ? declared(word.name) : [];
      const declarations = new Set(at.map(({ uri, range }) => JSON.stringify({ uri, range })));
      return used(word.name).filter((found) => !declarations.has(JSON.stringify(found)));
    },
    "textDocument/hover"(params) {
      const word = asked(params);
      if (word === undefined) return null;
      const line = declared(word.name)[0]?.line.trim() ?? word.name;
      const text = textOf(params.textDocument.uri);
      return { contents: { kind: "markdown", value: `\`${line}\`` }, range: place("", text, word).range };
    },
    "textDocument/documentSymbol": ({ textDocument: { uri } }) => symbolsOf(textOf(uri), encoding),
    "workspace/symbol": ({ query }) =>
      files.all().flatMap(([uri, text]) =>
        declarationsOf(text)
          .filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()))
          .map((found) => ({ name: found.name, kind: found.kind === "class" ? 5 : 12, location: place(uri, text, found) })),
      ),
    "textDocument/prepareCallHierarchy"(params) {
      const word = asked(params);
      return files.all().flatMap(([uri, text]) =>
        declarationsOf(text)
          .filter(({ name }) => name === word?.name)
          .map((found) => item(uri, text, found)),
      );
    },
    "callHierarchy/incomingCalls": ({ item: { name, uri: own, selectionRange } }) =>
      used(name).flatMap(({ uri, range }) => {
        if (uri === own && JSON.stringify(range) === JSON.stringify(selectionRange)) return [];
        const text = textOf(uri);
        const from = caller(uri, text, offsetAt(text, range.start, encoding));
        return from === undefined ? [] : [{ from, fromRanges: [range] }];
      }),
    "callHierarchy/outgoingCalls"({ item: called }) {
      const text = textOf(called.uri);
      const start = offsetAt(text, called.selectionRange.end, encoding);
      const end = declarationsOf(text).find(({ at }) => at > start)?.start ?? text.length;
      return wordsOf(text.slice(start, end)).flatMap(({ name, at }) =>
        declared(name)
          .slice(0, 1)
          .map(({ uri, range }) => ({
            to: { name, kind: 12, uri, range, selectionRange: range },
            fromRanges: [rangeAt(text, start + at, start + at + name.length, encoding)],
          })),
      );
    },
    "textDocument/prepareRename"(params) {
      const word = asked(params);
      return word === undefined ? null : place("", textOf(params.textDocument.uri), word).range;
    },
    "textDocument/rename": rename,
    "textDocument/formatting"({ textDocument: { uri } }) {
      const text = textOf(uri);
      return [...text.matchAll(/[ \t]+(?=\r|\n|$)/g)].map((match) => ({
        range: rangeAt(text, match.index, match.index + match[0].length, encoding),
        newText: "",
      }));
    },
    "textDocument/codeAction"({ textDocument: { uri }, context: { diagnostics: shown = [] } }) {
      return [
        ...shown.map((diagnostic) => ({
          title: `Define ${diagnostic.message.split(" ")[0]}`,
          kind: "quickfix",
          isPreferred: true,
          diagnostics: [diagnostic],
          data: { uri, name: diagnostic.message.split(" ")[0] },
        })),
        { title: "Not now", kind: "refactor", disabled: { reason: "it is not the time" } },
        { title: "Run something", kind: "source", command: { title: "Run", command: "fake.run", arguments: [] } },
      ];
    },
    "codeAction/resolve": (action) =>
      action.data === undefined
        ? action
        : {
            ...action,
            edit: {
              changes: { [action.data.uri]: [{ range: rangeAt("", 0, 0, encoding), newText: `def ${action.data.name}\n` }] },
            },
          },
    "textDocument/completion"(params) {
      const text = textOf(params.textDocument.uri);
      const before = /[A-Za-z0-9_]*$/.exec(text.slice(0, offsetAt(text, params.position, encoding)))[0];
      const names = new Set(files.all().flatMap(([, other]) => declarationsOf(other).map(({ name }) => name)));
      return {
        isIncomplete: false,
        items: [...names].filter((name) => name.startsWith(before)).map((name) => ({ label: name, kind: 3, insertText: name })),
      };
    },
    "textDocument/signatureHelp"(params) {
      const text = textOf(params.textDocument.uri);
      const before = /([A-Za-z_]\w*)\(([^()]*)$/.exec(text.slice(0, offsetAt(text, params.position, encoding)));
      const line = before === null ? undefined : declared(before[1])[0]?.line.trim();
      if (line === undefined) return null;
      const parameters = (/\((.*)\)/.exec(line)?.[1] ?? "").split(",").map((label) => ({ label: label.trim() }));
      return {
        signatures: [{ label: line, parameters }],
        activeSignature: 0,
        activeParameter: before[2].split(",").length - 1,
      };
    },
    ...(pulls
      ? {
          "textDocument/diagnostic"({ textDocument: { uri }, previousResultId }) {
            const items = problems(textOf(uri));
            const resultId = createHash("sha256").update(JSON.stringify(items)).digest("hex");
            return resultId === previousResultId ? { kind: "unchanged", resultId } : { kind: "full", resultId, items };
          },
        }
      : {}),
  };

  return {
    handlers,
    capabilities: {
      textDocumentSync: { openClose: true, change: sync === "full" ? 1 : 2 },
      definitionProvider: true,
      typeDefinitionProvider: true,
      implementationProvider: true,
      referencesProvider: true,
      hoverProvider: true,
      documentSymbolProvider: true,
      workspaceSymbolProvider: true,
      callHierarchyProvider: true,
      renameProvider: { prepareProvider: true },
      documentFormattingProvider: true,
      codeActionProvider: { codeActionKinds: ["quickfix", "refactor", "source"], resolveProvider: true },
      completionProvider: {},
      signatureHelpProvider: { triggerCharacters: ["("] },
      ...(pulls ? { diagnosticProvider: { interFileDependencies: true, workspaceDiagnostics: false } } : {}),
    },
  };
}
