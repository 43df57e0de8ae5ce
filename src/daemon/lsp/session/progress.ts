import { cutText } from "../../base/index.ts";

/** Titles that are told, and characters of each. */
const MOST_TITLES = 20;
const TITLE_CHARACTERS = 200;

/** Work that a server says is going on: `$/progress` with begin, report and end. */
export class Progress {
  /** Titles by token; tokens of both kinds are told apart. */
  readonly #going = new Map<string | number, string>();
  readonly #listeners = new Set<() => void>();

  /** Hears the params of a `$/progress`; what is not of the known form is not work. */
  hear(params: unknown): void {
    if (!isObject(params) || !isObject(params.value)) return;
    const { token, value } = params;
    if (typeof token !== "string" && typeof token !== "number") return;
    if (value.kind === "begin") this.#going.set(token, typeof value.title === "string" ? value.title : "");
    else if (value.kind !== "end" || !this.#going.delete(token)) return;
    for (const listener of this.#listeners) listener();
  }

  /** Whether work goes on whose title or token matches. */
  going(matches: RegExp): boolean {
    return [...this.#going].some(([token, title]) => title.search(matches) >= 0 || String(token).search(matches) >= 0);
  }

  titles(): string[] {
    return [...this.#going.values()].slice(0, MOST_TITLES).map((title) => cutText(title, TITLE_CHARACTERS));
  }

  /** Called when work begins or ends. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
