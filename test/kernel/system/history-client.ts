// A process of many connections that read and save shared files until each has had its saves acknowledged; prints a line a batch of them.
import { setTimeout as wait } from "node:timers/promises";
import type { JsonObject } from "../../../src/clients/sdk/index.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { appendHistory, type HistoryRecord, micros, withMark } from "./history.ts";
import { generationOf, PatientClient, reasonOf, sha } from "./patient.ts";

/** What the parent says on argv. */
export interface ClientOrders {
  readonly socket: string;
  readonly file: string;
  /** Names of this process's clients, one connection each. */
  readonly clients: readonly string[];
  readonly paths: readonly string[];
  /** Acknowledged saves of each client. */
  readonly saves: number;
  /** Acknowledged saves of this process after which it says so. */
  readonly tell: number;
}

type Mode = "expect" | "merge" | "generation";

/** Refusals of one save after which it is sent to be merged: else the many starve each other. */
const PATIENCE = 2;

class Worker {
  readonly #name: string;
  readonly #client: PatientClient;
  readonly #random: Chance;
  readonly #orders: ClientOrders;
  readonly #acknowledged: () => void;
  #records: HistoryRecord[] = [];
  #marks = 0;
  #requests = 0;

  constructor(name: string, orders: ClientOrders, acknowledged: () => void) {
    this.#name = name;
    this.#orders = orders;
    this.#client = new PatientClient(orders.socket, `agent/${name}`);
    this.#random = chance(`history ${name}`);
    this.#acknowledged = acknowledged;
  }

  async run(): Promise<void> {
    for (let done = 0; done < this.#orders.saves; done++) {
      if (this.#random.maybe(0.3)) await this.#read(this.#random.pick(this.#orders.paths));
      await this.#saveOnce(this.#random.pick(this.#orders.paths));
      this.#acknowledged();
      appendHistory(this.#orders.file, this.#records);
      this.#records = [];
    }
    this.#client.close();
  }

  async #read(path: string): Promise<{ text: string; sha256: string; generation: number }> {
    const invoked = micros();
    const answer = await this.#client.run("read_path", { path });
    const generation = generationOf(answer);
    const { text, sha256 } = answer as { text: string; sha256: string };
    if (sha(text) !== sha256) throw new Error(`${path}: the text read is not the one its sha256 names`);
    this.#records.push({ op: "read", client: this.#name, path, sha256, generation, invoked, returned: micros() });
    return { text, sha256, generation };
  }

  /** Reads, edits, saves; starts over with what is there now until the save is acknowledged. */
  async #saveOnce(path: string): Promise<void> {
    const first: Mode = this.#random.maybe(0.5) ? "merge" : this.#random.maybe(0.8) ? "expect" : "generation";
    const mark = `${this.#name} ${++this.#marks}`;
    for (let refusals = 0; ; refusals++) {
      const seen = await this.#read(path);
      if (this.#random.maybe(0.1)) await wait(this.#random.int(20));
      if (this.#random.maybe(0.02)) this.#client.reconnect();
      const mode = refusals < PATIENCE ? first : "merge";
      const request = `${this.#name}-${++this.#requests}`;
      const text = withMark(seen.text, this.#name, mark);
      const message: JsonObject = {
        request_id: request,
        edits: [{ path, text, ...(mode === "generation" ? {} : { expect: seen.sha256 }) }],
        ...(mode === "generation" ? { generation: String(seen.generation) } : {}),
        ...(mode === "merge" ? { on_conflict: "ON_CONFLICT_MERGE" } : {}),
      };
      const invoked = micros();
      try {
        const answer = await this.#client.run("save", message);
        const returned = micros();
        const [saved] = answer.paths as { sha256: string; merged: boolean }[];
        if (saved === undefined) throw new Error("a save of one path was answered without it");
        this.#records.push({
          op: "save",
          client: this.#name,
          path,
          request,
          expect: mode === "generation" ? "" : seen.sha256,
          after: saved.sha256,
          merged: saved.merged,
          replayed: answer.replayed === true,
          generation: generationOf(answer),
          checkpoint: String(answer.checkpoint),
          mark,
          invoked,
          returned,
        });
        return;
      } catch (thrown) {
        const reason = reasonOf(thrown);
        if (!["STALE_CONTENT", "STALE_GENERATION", "MERGE_CONFLICT"].includes(reason)) throw thrown;
        this.#records.push({ op: "refused", client: this.#name, path, request, reason, invoked, returned: micros() });
      }
    }
  }
}

const orders = JSON.parse(process.argv[2] ?? "{}") as ClientOrders;
let acknowledged = 0;
await Promise.all(
  orders.clients.map((name) =>
    new Worker(name, orders, () => {
      if (++acknowledged % orders.tell === 0) console.log(`acknowledged ${acknowledged}`);
    }).run(),
  ),
);
