import { errorDetail, isObject, prepare } from "../../clients/sdk/index.ts";
import type { Listed } from "../catalog/listed.ts";
import { listedBlind, listedTable } from "../catalog/table.ts";
import type { Daemon } from "./daemon.ts";
import { failureOf } from "./failure.ts";

/** Milliseconds the list waits for the daemon: hosts give a server that does not list its tools up. */
const LIST_MS = 700;

/**
 * The list of profile `tools`, asked of the daemon each time. Where it does not answer in time, the tools are listed without their
 * arguments and with the reason; once it answers, whoever listens is told that the list is another.
 */
export class TableList {
  readonly #daemon: Daemon;
  readonly #listeners = new Set<() => void>();
  /** Lists that are asked for at the same time are one question. */
  #asking: Promise<readonly Listed[]> | undefined;
  #blind = false;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /** Never throws, and never takes longer than LIST_MS. */
  async list(client: string | undefined): Promise<readonly Listed[]> {
    this.#asking ??= this.#ask(client).finally(() => {
      this.#asking = undefined;
    });
    const asking = this.#asking;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), LIST_MS);
    });
    try {
      const listed = await Promise.race([asking, late]);
      if (listed !== "late") return listed;
      this.#blind = true;
      asking.then(
        () => this.heard(),
        // It still does not answer: the list stands as it was given.
        () => {},
      );
      return listedBlind("gin did not answer in time");
    } catch (thrown) {
      this.#blind = true;
      return listedBlind(whyOf(thrown, this.#daemon.principal));
    } finally {
      clearTimeout(timer);
    }
  }

  /** The daemon answered: a list that was given without it is out of date. */
  heard(): void {
    if (!this.#blind) return;
    this.#blind = false;
    for (const listener of this.#listeners) listener();
  }

  /** Called when a list that was given is out of date. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async #ask(client: string | undefined): Promise<readonly Listed[]> {
    const asked = prepare({ list_tools: { include_schema: true } });
    const response = await this.#daemon.send(asked, new AbortController().signal, client);
    const error = errorDetail(response.error);
    if (error !== undefined) throw new Refused(`${error.reason}: ${error.message}`);
    return listedTable(isObject(response.list_tools) ? response.list_tools : {});
  }
}

/** The daemon refused to tell. */
class Refused extends Error {}

function whyOf(thrown: unknown, principal: string | undefined): string {
  if (thrown instanceof Refused) return thrown.message;
  const failure = failureOf(thrown, undefined, principal);
  const told = isObject(failure.bridge_error) ? failure.bridge_error : failure.error;
  return isObject(told) ? `${String(told.message)} (${String(told.suggestion)})` : "gin did not answer";
}
