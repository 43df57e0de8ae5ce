// Files that several agents edit at places planned beforehand, so that what an undo of one of them must leave is known exactly.
import type { Chance } from "../../helpers/random.ts";

/** A stretch of a file that one agent owns; between two of them stands at least one line nobody touches. */
export interface Place {
  readonly agent: string;
  /** As it was before anybody began. */
  readonly before: readonly string[];
  lines: string[];
}

/** A file as a row of untouched lines and places. */
export interface PlannedFile {
  path: string;
  readonly parts: readonly (readonly string[] | Place)[];
  readonly end: string;
  /** Whether the last line has its end. */
  readonly ended: boolean;
}

/** Lines that stand in a file many times, as in real code. */
const COMMON = ["", "}", "  return;", "{", "  });", "// --", "\t"];

function isPlace(part: readonly string[] | Place): part is Place {
  return !Array.isArray(part);
}

/** The places of a file. */
export function placesOf(file: PlannedFile): Place[] {
  return file.parts.filter(isPlace);
}

/** The file's bytes, with some places as they were before. */
export function bytesOf(file: PlannedFile, without?: (place: Place) => boolean): Buffer {
  const lines = file.parts.flatMap((part) => (isPlace(part) ? (without?.(part) === true ? part.before : part.lines) : part));
  const text = lines.map((line) => line + file.end).join("");
  return Buffer.from(file.ended || lines.length === 0 ? text : text.slice(0, text.length - file.end.length), "latin1");
}

/** A file with places for each agent. `common` is how often a line is one that stands elsewhere too. */
export function planFile(random: Chance, path: string, agents: readonly string[], common: number): PlannedFile {
  let serial = 0;
  const line = (): string => (random.maybe(common) ? random.pick(COMMON) : `${path} line ${++serial} ${random.int(1e6)}`);
  const fence = (): string[] => [`${path} fence ${++serial}`, ...Array.from({ length: random.int(3) }, line)];
  const parts: (readonly string[] | Place)[] = [];
  const count = agents.length + random.int(2 * agents.length);
  for (let index = 0; index < count; index += 1) {
    parts.push(fence());
    const before = Array.from({ length: random.int(4) }, line);
    const agent = index < agents.length ? agents[index] : random.pick(agents);
    parts.push({ agent: agent ?? "", before, lines: [...before] });
  }
  parts.push([...fence(), `${path} last`]);
  return { path, parts, end: random.maybe(0.3) ? "\r\n" : "\n", ended: random.maybe(0.7) };
}

/** One edit of a place: a line changed, added, taken away, several at once, or all as it was. */
export function editPlace(random: Chance, place: Place, common: number): void {
  const fresh = (): string => (random.maybe(common) ? random.pick(COMMON) : `${place.agent} ${random.int(1e9)}`);
  const at = random.int(place.lines.length + 1);
  const what = random.int(10);
  if (what < 4 && at < place.lines.length) place.lines[at] = fresh();
  else if (what < 7) place.lines.splice(at, 0, ...Array.from({ length: 1 + random.int(3) }, fresh));
  else if (what < 9 && place.lines.length > 0) place.lines.splice(Math.min(at, place.lines.length - 1), 1 + random.int(2));
  else place.lines = [...place.before];
}
