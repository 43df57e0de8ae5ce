import { GinError, Pace } from "../../base/index.ts";
import type { Text } from "../mirror/types.ts";
import type { Named } from "./locations.ts";
import { documentOf, type Ground } from "./types.ts";
import { wordAround } from "./words.ts";

/** Files opened for one question so that a server sees them, and projects where all of them are needed. */
const MOST_OPENED = 200;
/** Other names of a symbol that are followed, and rounds of that. */
const MOST_NAMES = 20;
const MOST_ROUNDS = 4;

/**
 * Asks about the symbol at the place, also a server that knows only the projects it has a file open of: what holds its name is opened first, and what holds the names it
 * turns out to have elsewhere (aliases, default exports) after that. Of a server that knows the workspace it is one request. What could not be
 * opened makes the answer partial.
 */
export async function askCovered(ground: Ground, ask: () => Promise<readonly Named[]>): Promise<readonly Named[]> {
  if (ground.leased.spec.projects === undefined) return ask();
  const names = new Set<string>();
  let fresh = placeName(ground);
  let found: readonly Named[] = [];
  for (let round = 1; ; round++) {
    for (const name of fresh) names.add(name);
    const opened = await cover(ground, fresh);
    // Only what was opened can tell more than the last time.
    if (round > 1 && opened === 0) return found;
    found = await ask();
    fresh = (await namesAt(ground, found)).filter((name) => !names.has(name)).slice(0, MOST_NAMES);
    if (fresh.length === 0) return found;
    if (round === MOST_ROUNDS) {
      ground.partial("it has many names: files that hold others of them may be left out");
      return found;
    }
  }
}

/**
 * Has the server know every file of its languages that holds one of the words: one file of each project that surely includes some, and those that no project surely
 * includes. Undefined words stand for all files. Gives how many were opened or were open already; what is beyond the bound is noted.
 */
export async function cover(ground: Ground, words: readonly string[] | undefined): Promise<number> {
  const { room, question, leased, synced, deadline, document } = ground;
  const { spec } = leased;
  if (spec.projects === undefined || words?.length === 0) return 0;
  const { workspace } = question;
  const holding = await room.vocabularies.holding(workspace, spec, synced.tree, words ?? [], deadline.signal);
  const projects = room.projects.at(workspace, synced.tree, spec.projects);
  // What is looked for everywhere is known by any name.
  const sure = words === undefined || !(await room.links.mayLead(workspace, synced.tree, new Pace(room.clock, deadline.signal)));
  const loaded = new Set(document === undefined ? [] : [projects.of(document.path)]);
  const wanted: string[] = [];
  for (const path of holding) {
    if (path === document?.path) continue;
    const project = sure ? projects.of(path) : undefined;
    if (project !== undefined && (projects.known || loaded.has(project))) continue;
    loaded.add(project);
    wanted.push(path);
  }
  if (wanted.length > MOST_OPENED) {
    ground.partial(
      `${wanted.length - MOST_OPENED} files that may hold it are in no project that ${spec.id} knows, and were not looked into`,
    );
  }
  let opened = 0;
  // One after the other: the reads wait for nothing, and others get their turns.
  for (const path of wanted.slice(0, MOST_OPENED)) if (await openOne(ground, path)) opened += 1;
  return opened;
}

/** False for what cannot be opened, which is noted: it went away, or is no text a server could be told of. */
async function openOne(ground: Ground, path: string): Promise<boolean> {
  try {
    await ground.mirror.open(path, ground.deadline);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof GinError) || thrown.reason === "NOT_READY" || thrown.reason === "CANCELLED") throw thrown;
    const what = ground.question.visible(path) ? path : "a file that you may not see";
    ground.partial(`${what} could not be looked into (${thrown.reason})`);
    return false;
  }
}

function placeName(ground: Ground): readonly string[] {
  const { text } = documentOf(ground);
  const word = ground.place === undefined ? "" : wordAround(text.line(ground.place.line), ground.place.character);
  return word === "" ? [] : [word];
}

/** What a symbol is called where it was found; a file that exports it as its default is imported under any name, by its own. */
async function namesAt(ground: Ground, found: readonly Named[]): Promise<readonly string[]> {
  const names = new Set<string>();
  const files = new Set<string>();
  for (const { uri, range } of found) {
    const path = ground.mirror.pathOf(uri);
    const text = path === undefined ? undefined : await ground.mirror.text(path);
    if (path === undefined || text === undefined) continue;
    const { line, character } = text.fromServer(range.start, ground.encoding);
    const word = wordAround(text.line(line), character);
    if (word !== "") names.add(word);
    if (files.has(path)) continue;
    files.add(path);
    const module = moduleName(path);
    if (module !== "" && exportsDefault(text)) names.add(module);
  }
  return [...names];
}

/** By content: the same ones are asked about again and again. */
const judged = new WeakMap<Text, boolean>();

function exportsDefault(text: Text): boolean {
  const is = judged.get(text) ?? DEFAULT_EXPORT.test(text.text);
  judged.set(text, is);
  return is;
}

/** A file that may be imported under another name than it exports. */
const DEFAULT_EXPORT = /\bexport\s+default\b|\bas\s+default\b|\bexport\s*=|\bmodule\.exports\s*=/;

/** The last word by which a file is imported: of an index that of its folder. */
function moduleName(path: string): string {
  const [file = "", folder = ""] = path.split("/").reverse();
  const base = file.replace(/(?:\.d)?\.\w+$/, "");
  return (base === "index" ? folder : base).split(/[^\w$]/).at(-1) ?? "";
}
