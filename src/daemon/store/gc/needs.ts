import type { Work } from "../work.ts";

/** Needed by what stands now, or by what was written while gc ran: never given up by this run. */
export const LIVE = 0xffff_ffff;

/**
 * How long each content and tree node is needed: 0 by nothing, n by the n-th oldest checkpoint and none newer, LIVE. By row
 * number, four bytes each. Rows that come after the run began are beyond `top` and not its business; the row at `top` itself
 * always stays, so that no row number is ever given twice.
 */
export class Needs {
  readonly topObject: number;
  readonly topNode: number;
  readonly #objects: Uint32Array;
  readonly #nodes: Uint32Array;
  /** Nodes whose own entries were looked at; not the same as needed, which a save may say of a node before gc comes to it. */
  readonly #walked: Uint8Array;
  readonly #work: Work;

  constructor(work: Work) {
    this.#work = work;
    this.topObject = top(work, "object");
    this.topNode = top(work, "node");
    this.#objects = new Uint32Array(this.topObject + 1);
    this.#nodes = new Uint32Array(this.topNode + 1);
    this.#walked = new Uint8Array(this.topNode + 1);
  }

  /** How long the content in a row is needed. */
  ofObject(seq: number): number {
    return seq >= this.topObject ? LIVE : (this.#objects[seq] ?? LIVE);
  }

  ofNode(seq: number): number {
    return seq >= this.topNode ? LIVE : (this.#nodes[seq] ?? LIVE);
  }

  /** Notes that a content is needed until `until`. One that is not kept is nobody's business. */
  object(sha256: Uint8Array, until: number): void {
    const seq = this.#find("SELECT seq FROM object WHERE sha256 = ?", sha256);
    if (seq !== undefined && seq <= this.topObject) this.#objects[seq] = Math.max(this.#objects[seq] ?? 0, until);
  }

  /** Notes that a node is needed until `until`. */
  node(hash: Uint8Array, until: number): void {
    const seq = this.#find("SELECT seq FROM node WHERE hash = ?", hash);
    if (seq !== undefined && seq <= this.topNode) this.#nodes[seq] = Math.max(this.#nodes[seq] ?? 0, until);
  }

  /** Notes a node as `node` does, and gives its bytes the first time it is walked; undefined afterwards, and when it is not there. */
  walk(hash: Uint8Array, until: number): Uint8Array | undefined {
    const seq = this.#find("SELECT seq FROM node WHERE hash = ?", hash);
    if (seq === undefined || seq > this.topNode) return undefined;
    this.#nodes[seq] = Math.max(this.#nodes[seq] ?? 0, until);
    if (this.#walked[seq] === 1) return undefined;
    this.#walked[seq] = 1;
    const row = this.#work.statement("SELECT data FROM node WHERE seq = ?").get(seq) as { data: Uint8Array };
    return row.data;
  }

  #find(sql: string, key: Uint8Array): number | undefined {
    return (this.#work.statement(sql).get(key) as { seq: number } | undefined)?.seq;
  }
}

function top(work: Work, table: "object" | "node"): number {
  return (work.statement(`SELECT coalesce(max(seq), 0) AS seq FROM ${table}`).get() as { seq: number }).seq;
}
