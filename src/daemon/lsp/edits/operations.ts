import type { GinError } from "../../base/index.ts";
import { isObject, rangeOf } from "../queries/raw.ts";
import type { Replacement } from "./splice.ts";

/** One step of an edit; steps are made in their order. */
export type Operation =
  | {
      readonly kind: "edit";
      readonly uri: string;
      /** Of the document it is about; null for any. */
      readonly version: number | null;
      readonly replacements: readonly Replacement[];
    }
  | { readonly kind: "create"; readonly uri: string; readonly overwrite: boolean; readonly ignoreIfExists: boolean }
  | {
      readonly kind: "rename";
      readonly uri: string;
      readonly to: string;
      readonly overwrite: boolean;
      readonly ignoreIfExists: boolean;
    }
  | { readonly kind: "delete"; readonly uri: string; readonly recursive: boolean; readonly ignoreIfNotExists: boolean };

/**
 * The steps of a WorkspaceEdit: of `documentChanges` where there are any, else of `changes`. Throws (`refuse` makes the error) for what is malformed: an edit of which a part
 * is not understood is not made in part.
 */
export function operationsOf(edit: unknown, refuse: (message: string) => GinError): readonly Operation[] {
  if (!isObject(edit)) throw refuse("it is no edit at all");
  const { documentChanges, changes } = edit;
  if (Array.isArray(documentChanges)) return documentChanges.map((change) => operationOf(change, refuse));
  if (documentChanges !== undefined && documentChanges !== null) throw refuse("its documentChanges are no list");
  if (changes === undefined || changes === null) return [];
  if (!isObject(changes)) throw refuse("its changes are not understood");
  return Object.entries(changes).map(([uri, list]) => ({
    kind: "edit",
    uri,
    version: null,
    replacements: replacementsOf(list, refuse),
  }));
}

/** Replacements of a list; none for null. */
export function replacementsOf(list: unknown, refuse: (message: string) => GinError): readonly Replacement[] {
  if (list === null || list === undefined) return [];
  if (!Array.isArray(list)) throw refuse("changes of a file are no list");
  return list.map((one) => {
    const range = isObject(one) ? rangeOf(one["range"]) : undefined;
    if (!isObject(one) || range === undefined || typeof one["newText"] !== "string") {
      throw refuse("a change of a file is not understood");
    }
    return { range, newText: one["newText"] };
  });
}

function operationOf(change: unknown, refuse: (message: string) => GinError): Operation {
  if (!isObject(change)) throw refuse("one of its steps is not understood");
  const { kind } = change;
  const options = isObject(change["options"]) ? change["options"] : {};
  const flag = (name: string): boolean => options[name] === true;
  const uri = (name: string, from = change): string => {
    const value = from[name];
    if (typeof value !== "string") throw refuse("one of its steps names no file");
    return value;
  };
  switch (kind) {
    case "create":
      return { kind, uri: uri("uri"), overwrite: flag("overwrite"), ignoreIfExists: flag("ignoreIfExists") };
    case "rename": {
      const flags = { overwrite: flag("overwrite"), ignoreIfExists: flag("ignoreIfExists") };
      return { kind, uri: uri("oldUri"), to: uri("newUri"), ...flags };
    }
    case "delete":
      return { kind, uri: uri("uri"), recursive: flag("recursive"), ignoreIfNotExists: flag("ignoreIfNotExists") };
    case undefined: {
      const { textDocument } = change;
      if (!isObject(textDocument)) throw refuse("one of its steps names no file");
      const { version } = textDocument;
      return {
        kind: "edit",
        uri: uri("uri", textDocument),
        version: typeof version === "number" ? version : null,
        replacements: replacementsOf(change["edits"], refuse),
      };
    }
    default:
      throw refuse("it has a step of a kind that is not known");
  }
}
