import type { FailPoint } from "../base/index.ts";
import type { Garbage } from "./gc/garbage.ts";
import type { SideWriter } from "./side.ts";
import type { Database, Statement } from "./sqlite.ts";
import type { Commands, NewObject } from "./types.ts";

/** What a command's handler works with; it runs inside a transaction unless its entry says otherwise. */
export interface Work {
  readonly db: Database;
  readonly directory: string;
  /** A prepared statement, made once for each text. */
  statement(sql: string): Statement;
  readonly side: SideWriter;
  /** gc's run. Whoever writes a content or a node, or comes to need one again, tells it. */
  readonly garbage: Garbage;
  hit(point: FailPoint): void;
}

/** One command: how it must be committed, and what it does. */
export interface Handler<K extends keyof Commands> {
  /** Whether its commit waits for the disk; a function where that depends on the value. */
  readonly durable: boolean | ((value: Commands[K]["in"]) => boolean);
  /** Contents it brings: the large ones are in the side store, synced, before the transaction opens. */
  readonly objects?: (value: Commands[K]["in"]) => readonly NewObject[];
  /** Inside the transaction; throwing undoes all of it. */
  readonly run: (work: Work, value: Commands[K]["in"]) => Commands[K]["out"];
  /** After the commit, before the answer. */
  readonly after?: (work: Work) => void;
}
