/** Deepest nesting that is taken: what the daemon takes too. */
export const JSON_DEPTH = 64;

/** Longest key that a message shows. */
const KEY_CHARACTERS = 128;

/** Why a text is not taken, and what it holds all the same where that could be read. */
export class StrictJsonError extends Error {
  readonly value: unknown;

  constructor(message: string, value?: unknown) {
    super(message);
    this.name = "StrictJsonError";
    this.value = value;
  }
}

/** What is open around the place that is looked at. */
interface Frame {
  /** Keys seen, of an object; undefined for an array. */
  readonly keys: Set<string> | undefined;
  /** Key or index of the value that is looked at. */
  at: string | number;
  /** Whether the next string is a key. */
  atKey: boolean;
}

/**
 * One JSON value and nothing behind it. Throws StrictJsonError for bytes that are not UTF-8, what is not JSON, keys that are given twice (at
 * any depth, with their JSON pointer), half characters, numbers beyond what a double holds, and what is nested too deeply.
 */
export function parseStrict(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StrictJsonError("the request is not UTF-8");
  }
  if (text.trim() === "") throw new StrictJsonError("the request is empty: one JSON object is expected");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw new StrictJsonError(syntaxFault(thrown));
  }
  const fault = faultIn(text);
  if (fault !== undefined) throw new StrictJsonError(fault, value);
  return value;
}

/** The parser's complaint without the text it quotes. */
function syntaxFault(thrown: unknown): string {
  const said = thrown instanceof Error ? thrown.message : "";
  const at = /position (\d+)/.exec(said)?.[1];
  const where = at === undefined ? "" : ` (at character ${at})`;
  if (/after JSON/.test(said)) return `something follows the request's JSON object${where}: one object is expected`;
  return `the request is not JSON${where}`;
}

/** A whole number where it begins: of what is known to be JSON, nothing else begins so. */
const NUMBER = /-?\d[-+.\deE]*/y;

/** Looks through a text that is known to be JSON. */
function faultIn(text: string): string | undefined {
  const frames: Frame[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const frame = frames.at(-1);
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
        if (frames.length === JSON_DEPTH) return `${pointer(frames)}: is nested deeper than ${JSON_DEPTH}`;
        frames.push(text[at] === "{" ? { keys: new Set(), at: "", atKey: true } : { keys: undefined, at: 0, atKey: false });
        break;
      case 0x7d: // }
      case 0x5d: // ]
        frames.pop();
        break;
      case 0x2c: // ,
        if (frame?.keys !== undefined) frame.atKey = true;
        else if (frame !== undefined) frame.at = Number(frame.at) + 1;
        break;
      case 0x22: {
        const end = stringEnd(text, at);
        const fault = stringFault(text.slice(at, end), frames);
        if (fault !== undefined) return fault;
        at = end - 1;
        break;
      }
      default: {
        NUMBER.lastIndex = at;
        const number = NUMBER.exec(text)?.[0];
        if (number === undefined) break;
        if (!Number.isFinite(Number(number))) return `${pointer(frames)}: the number is beyond what can be told apart`;
        at += number.length - 1;
      }
    }
  }
  return undefined;
}

/** Offset behind the closing quote of the string that begins at `from`. */
function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
}

/** A string with its quotes: a key, or a value. */
function stringFault(quoted: string, frames: readonly Frame[]): string | undefined {
  const frame = frames.at(-1);
  const isKey = frame?.atKey === true;
  const escaped = quoted.includes("\\");
  if (escaped && !isWhole(JSON.parse(quoted))) return `${pointer(frames)}: holds half a character, which UTF-8 cannot carry`;
  if (!isKey || frame?.keys === undefined) return undefined;
  const key: string = escaped ? JSON.parse(quoted) : quoted.slice(1, -1);
  frame.at = key;
  frame.atKey = false;
  if (frame.keys.has(key)) return `${pointer(frames)}: is given twice`;
  if (key === "__proto__") return `${pointer(frames)}: is no key of a request`;
  frame.keys.add(key);
  return undefined;
}

function isWhole(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Where the frames are, as a JSON pointer; "/" for the whole. */
function pointer(frames: readonly Frame[]): string {
  const names = frames.filter(({ at }) => at !== "").map(({ at }) => String(at).slice(0, KEY_CHARACTERS));
  return `/${names.map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`;
}
