/** What a header field's name may consist of. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** A value no header may have: control characters that end fields, or letters beyond one byte. */
const BAD_VALUE = /[\0\r\n\u0100-\uffff]/;

/** White space at the ends of a value, which is not part of it. */
const PADDED = /^[\t\n\r ]|[\t\n\r ]$/;

/**
 * The header fields of a request, read once from Node's flat list of names and values: what `Headers` would hold of them, at
 * a fraction of its cost. Pseudo-headers are left out; fields given twice are joined.
 */
export class Fields {
  /** Name-value pairs, pseudo-headers not counted. */
  readonly pairs: number;
  /** Characters of all names and values, pseudo-headers included. */
  readonly size: number;
  /** False when some field has a name or value no header may have. */
  readonly valid: boolean;
  readonly #values = new Map<string, string>();
  #headers: Headers | undefined;

  constructor(raw: readonly string[]) {
    let pairs = 0;
    let size = 0;
    let valid = true;
    for (let at = 0; at + 1 < raw.length; at += 2) {
      const name = raw[at] ?? "";
      const given = raw[at + 1] ?? "";
      size += name.length + given.length;
      if (name.startsWith(":")) continue;
      pairs += 1;
      const value = PADDED.test(given) ? given.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "") : given;
      if (!NAME.test(name) || BAD_VALUE.test(value)) valid = false;
      this.#add(name.toLowerCase(), value);
    }
    this.pairs = pairs;
    this.size = size;
    this.valid = valid;
  }

  #add(name: string, value: string): void {
    const before = this.#values.get(name);
    this.#values.set(name, before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`);
  }

  /** The value of a field, by its name in lower case; null when it is not there. */
  get(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  /** The same as Headers, made when they are first asked for: whoever wants to look at them all. */
  get headers(): Headers {
    if (this.#headers === undefined) {
      this.#headers = new Headers();
      for (const [name, value] of this.#values) this.#headers.append(name, value);
    }
    return this.#headers;
  }
}
