import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import type { Chance } from "../../helpers/random.ts";
import { PatientClient, reasonOf, sha } from "./patient.ts";

/** A save that was acknowledged: what each of its paths must hold in its checkpoint. */
export interface Acknowledged {
  readonly request: string;
  readonly checkpoint: string;
  readonly paths: readonly { readonly path: string; readonly sha256: string; readonly mark: string }[];
}

/** Refusals that another's edit explains. */
const EXPECTED = ["STALE_CONTENT", "MERGE_CONFLICT", "PATH_NOT_FOUND"];

/** A client that edits lines of shared files through gin until it is told to stop. */
export class SavingClient {
  readonly acknowledged: Acknowledged[] = [];
  readonly refused: string[] = [];
  readonly #client: PatientClient;
  readonly #name: string;
  readonly #random: Chance;
  readonly #paths: readonly string[];
  readonly #onStep: () => void;
  #count = 0;

  /** `onStep` is called after each save that was answered. */
  constructor(name: string, socket: string, random: Chance, paths: readonly string[], onStep: () => void) {
    this.#name = name;
    this.#onStep = onStep;
    this.#client = new PatientClient(socket, `agent/${name}`);
    this.#random = random;
    this.#paths = paths;
  }

  /** Every request id it used; each has been answered when `run` has resolved. */
  get requests(): string[] {
    return [...this.acknowledged.map(({ request }) => request), ...this.refused];
  }

  /** Attempts without an answer. */
  get lost(): number {
    return this.#client.lost;
  }

  async run(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      await this.#saveOnce();
      this.#onStep();
    }
    this.#client.close();
  }

  async #saveOnce(): Promise<void> {
    const request = `${this.#name}-${++this.#count}`;
    const mark = `saved by ${request}`;
    const edits: JsonObject[] = [];
    const texts = new Map<string, string>();
    for (let wanted = this.#random.maybe(0.2) ? 3 : 1; wanted > 0; wanted--) {
      const path = this.#random.pick(this.#paths);
      const seen = texts.has(path) ? undefined : await this.#read(path);
      if (seen === undefined) continue;
      const lines = seen.text.split("\n");
      // Not the first line, which outside editors change: edits of both sides can be merged then.
      if (lines.length > 3) lines[2 + this.#random.int(lines.length - 3)] = mark;
      texts.set(path, lines.join("\n"));
      edits.push({ path, expect: seen.sha256, text: lines.join("\n") });
    }
    if (this.#random.maybe(0.1)) edits.push({ path: `made/${this.#name}/${request}.txt`, expect: "absent", text: mark });
    if (edits.length === 0) return;
    const merge = this.#random.maybe(0.5);
    try {
      const answer = await this.#client.run("save", {
        request_id: request,
        edits,
        on_conflict: merge ? "ON_CONFLICT_MERGE" : "ON_CONFLICT_REFUSE",
      });
      const paths = (answer.paths as { path: string; sha256: string; merged: boolean; no_change: boolean }[]).map((saved) => {
        const text = texts.get(saved.path);
        if (!saved.merged && text !== undefined && saved.sha256 !== sha(text))
          throw new Error(`${request}: ${saved.path} was saved as something else`);
        return { path: saved.path, sha256: saved.sha256, mark: text === undefined || text.includes(mark) ? mark : "" };
      });
      this.acknowledged.push({ request, checkpoint: String(answer.checkpoint), paths });
    } catch (thrown) {
      const reason = reasonOf(thrown);
      if (!EXPECTED.includes(reason)) throw thrown;
      this.refused.push(request);
    }
  }

  async #read(path: string): Promise<{ text: string; sha256: string } | undefined> {
    try {
      const { text, sha256 } = (await this.#client.run("read_path", { path, limit: 1_048_576 })) as {
        text?: string;
        sha256: string;
      };
      // Half a character, between two writes of somebody.
      return text === undefined ? undefined : { text, sha256 };
    } catch (thrown) {
      if (reasonOf(thrown) !== "PATH_NOT_FOUND") throw thrown;
      return undefined;
    }
  }
}
