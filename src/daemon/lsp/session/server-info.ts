import type { InitializeResult } from "vscode-languageserver-protocol";
import { cutText } from "../../base/index.ts";

type Info = InitializeResult["serverInfo"];

/** Characters of a name or version that are told. */
const MOST = 80;

/** What a server calls itself, in a line: gopls gives all of its build information as JSON for its version. */
export function plainInfo(info: Info): Info {
  if (info === undefined) return undefined;
  const { name, version } = info;
  return { name: lineOf(name), ...(version === undefined ? {} : { version: lineOf(versionIn(version)) }) };
}

function versionIn(version: string): string {
  if (!version.startsWith("{")) return version;
  try {
    const told = (JSON.parse(version) as { readonly Version?: unknown }).Version;
    return typeof told === "string" ? told : version;
  } catch {
    return version;
  }
}

function lineOf(text: string): string {
  return cutText(
    String(text)
      .split(/[\r\n]/)[0]
      ?.trim() ?? "",
    MOST,
  );
}
