import { compiledServers } from "./rows/compiled.ts";
import { pythonServers } from "./rows/python.ts";
import { scriptServers } from "./rows/scripts.ts";
import { webServers } from "./rows/web.ts";
import type { ServerSpec } from "./types.ts";

const [typescript, ...documents] = webServers;

/** THE table of servers. Of several rows for one language the first that is installed is used. docs/lsp.md is checked against it. */
export const SERVERS: readonly ServerSpec[] = [
  ...(typescript === undefined ? [] : [typescript]),
  ...pythonServers,
  ...compiledServers,
  ...scriptServers,
  ...documents,
];

/** The row of an id; undefined when there is none. */
export function serverNamed(id: string, table: readonly ServerSpec[] = SERVERS): ServerSpec | undefined {
  return table.find((row) => row.id === id);
}

/** The language id a row gives a path; undefined when the row is not for it. */
export function languageOf(row: ServerSpec, path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const own = Object.hasOwn(row.languages, name) ? row.languages[name] : undefined;
  if (own !== undefined) return own;
  const dot = name.lastIndexOf(".");
  const extension = dot === -1 ? "" : name.slice(dot).toLowerCase();
  return Object.hasOwn(row.languages, extension) ? row.languages[extension] : undefined;
}

/** Rows for a path, in order of preference. */
export function serversFor(path: string, table: readonly ServerSpec[] = SERVERS): readonly ServerSpec[] {
  return table.filter((row) => languageOf(row, path) !== undefined);
}

/** Names of the languages a row is for, without doubles, in its order. */
export function languagesOf(row: ServerSpec): readonly string[] {
  return [...new Set(Object.values(row.languages))];
}
