import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Cause, PathKind } from "../../../gen/gin/v1/common_pb.ts";
import type {
  OriginEntry,
  Origin as OriginMessage,
  OriginRequest,
  OriginResponse,
  OriginSpan as OriginSpanMessage,
} from "../../../gen/gin/v1/origin_pb.ts";
import { GinError, type Json } from "../../base/index.ts";
import type { FileOrigin, OriginFact, OriginSpan } from "../../history/index.ts";
import type { Content, TreeEntry } from "../../store/index.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, type Invocation, stateOf, type Target, targetOf } from "../invocation.ts";
import { checkMost, invalid, LIMITS } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import { toCause } from "./checkpoint.ts";
import { findSnapshot, isHead, lookUp, treePath } from "./snapshot.ts";

/** Where the next page goes on: the checkpoint the first was of, the canonical path, and the last line or name shown. */
type Place = readonly [checkpoint: string, path: string, after: number | string];

/** What is asked about, found. */
interface Found {
  readonly path: string;
  readonly checkpoint: string;
  readonly generation: number;
  readonly content: Content | "directory";
  /** Of a file that was just read. */
  readonly bytes?: Uint8Array;
}

/** Origin: which checkpoint each line of a file comes from, or the last change of a directory's entries. */
export function originHandlers(ground: Ground): Pick<Handlers, "origin"> {
  return { origin: (request, call) => new OriginReader(ground, request, call).read() };
}

class OriginReader {
  readonly #ground: Ground;
  readonly #request: OriginRequest;
  readonly #call: Invocation;
  readonly #target: Target;
  readonly #limit: number;

  constructor(ground: Ground, request: OriginRequest, call: Invocation) {
    this.#ground = ground;
    this.#request = request;
    this.#call = call;
    this.#target = targetOf(call);
    this.#limit = pageSize(request.limit, LIMITS.list_default_entries.value);
    checkMost("list_max_entries", this.#limit, "limit");
    if (request.endLine !== 0 && request.endLine < request.startLine) throw invalid("end_line", "is before start_line");
  }

  async read(): Promise<OriginResponse> {
    const place = this.#ground.cursors.open(this.#scope(), this.#request.cursor) as Place | undefined;
    const found = place === undefined ? await this.#find() : this.#again(place);
    const after = place?.[2];
    if (found.content === "directory") return this.#directory(found, typeof after === "string" ? after : "");
    return this.#file(found, found.content, typeof after === "number" ? after : undefined);
  }

  async #find(): Promise<Found> {
    const { path, snapshot } = this.#request;
    const asked = path === "." ? "" : path;
    return isHead(snapshot)
      ? this.#findAtHead(asked)
      : this.#findIn(findSnapshot(this.#ground, this.#target, snapshot).checkpoint, asked);
  }

  #findIn(checkpoint: string, asked: string): Found {
    const path = asked === "" ? "" : treePath(asked);
    requirePath(this.#call.caller, path);
    const row = this.#ground.reader.checkpoint(checkpoint);
    if (row === undefined) throw expired(path);
    const content = lookUp(this.#ground, { checkpoint, tree: row.tree }, path);
    // A file that a tree does not hold was refused.
    return { path, checkpoint, generation: row.generation, content: content ?? "directory" };
  }

  /** What is on disk is recorded first; a directory is as it is recorded, which the watcher and reads keep up. */
  async #findAtHead(asked: string): Promise<Found> {
    const { workspace } = this.#target;
    const { trees } = this.#ground.store;
    const canonical = workspace.canonical(asked);
    requirePath(this.#call.caller, canonical);
    if (canonical === "" || trees.list(workspace.tree(), canonical) !== undefined) return this.#recorded(canonical, "directory");
    const read = await workspace.readHead(asked, {
      authorise: (path) => requirePath(this.#call.caller, path),
      content: true,
      signal: this.#call.signal,
    });
    if (read.kind === "large") read.close();
    if (read.kind === "directory") return this.#recorded(read.path, "directory");
    if (read.kind === "symlink") {
      const content = trees.get(workspace.tree(), read.path);
      if (content === null)
        throw new GinError("PATH_NOT_FOUND", `nothing is recorded at ${read.path}`, undefined, { facts: { path: read.path } });
      return this.#recorded(read.path, content);
    }
    const { path, checkpoint, content, state } = read;
    const found = { path, checkpoint, generation: state.generation, content };
    return read.kind === "file" && read.bytes.byteLength === content.size ? { ...found, bytes: read.bytes } : found;
  }

  #recorded(path: string, content: Found["content"]): Found {
    const { head, generation } = this.#target.workspace.state();
    return { path, checkpoint: head, generation, content };
  }

  /** A later page is of the checkpoint the first was of, whatever happened since. */
  #again([checkpoint, path]: Place): Found {
    const row = this.#ground.reader.checkpoint(checkpoint);
    if (row === undefined || row.workspace !== this.#target.rowid) throw expired(path);
    return this.#findIn(checkpoint, path);
  }

  async #file(found: Found, content: Content, after: number | undefined): Promise<OriginResponse> {
    const { startLine, endLine } = this.#request;
    const { origins } = this.#ground;
    const options = { signal: this.#call.signal, ...(found.bytes === undefined ? {} : { bytes: found.bytes }) };
    const origin = await origins.file(this.#target.rowid, found.path, found.generation, content, options);
    if (!origin.text && after !== undefined) throw expired(found.path);
    if (!origin.text && (startLine !== 0 || endLine !== 0)) {
      throw invalid(startLine === 0 ? "end_line" : "start_line", "the file is not text and has no lines");
    }
    const from = Math.max(1, startLine, (after ?? 0) + 1);
    const until = endLine === 0 ? origin.lineCount : endLine;
    const rest = origin.text ? clip(origin, from, until, this.#limit + 1) : origin.spans;
    const page = rest.slice(0, this.#limit);
    const last = page.at(-1);
    return this.#answer(found, {
      kind: content.kind === "symlink" ? PathKind.SYMLINK : PathKind.FILE,
      sha256: content.sha256,
      lineCount: BigInt(origin.lineCount),
      spans: page.map(toSpan),
      nextCursor: last !== undefined && rest.length > this.#limit ? this.#seal(found, last.endLine) : "",
    });
  }

  async #directory(found: Found, after: string): Promise<OriginResponse> {
    const { startLine, endLine } = this.#request;
    if (startLine !== 0 || endLine !== 0) {
      throw invalid(startLine === 0 ? "end_line" : "start_line", "a directory has no lines");
    }
    const { reader, store, origins } = this.#ground;
    const tree = reader.checkpoint(found.checkpoint)?.tree ?? store.trees.empty;
    const all = store.trees.list(tree, found.path) ?? [];
    const rest = after === "" ? all : all.slice(behind(all, after));
    const page = rest.slice(0, this.#limit);
    const paths = page.map(({ name }) => (found.path === "" ? name : `${found.path}/${name}`));
    const changes = await origins.lastChanges(this.#target.rowid, paths, found.generation, this.#call.signal);
    const last = page.at(-1);
    return this.#answer(found, {
      kind: PathKind.DIRECTORY,
      entries: page.map((entry, index) => toEntry(entry, changes[index])),
      nextCursor: last !== undefined && rest.length > this.#limit ? this.#seal(found, last.name) : "",
    });
  }

  #answer({ path, checkpoint }: Found, given: Partial<Omit<OriginResponse, "$typeName" | "state">>): OriginResponse {
    return {
      $typeName: "gin.v1.OriginResponse",
      state: { $typeName: "gin.v1.State", ...stateOf(this.#target.workspace.state()) },
      path,
      kind: PathKind.UNSPECIFIED,
      checkpoint,
      sha256: "",
      lineCount: 0n,
      spans: [],
      entries: [],
      nextCursor: "",
      ...given,
    };
  }

  #seal({ checkpoint, path }: Found, after: number | string): string {
    const place: Json = [checkpoint, path, after];
    return this.#ground.cursors.seal(this.#scope(), place);
  }

  #scope(): CursorScope {
    const { path, snapshot, startLine, endLine } = this.#request;
    const query = [this.#target.id, path, isHead(snapshot) ? "head" : snapshot, startLine, endLine];
    return { operation: "Origin", principal: this.#call.caller.principal, query };
  }
}

/** The spans over some lines, cut to them, at most so many. */
function clip({ spans }: FileOrigin, from: number, until: number, most: number): OriginSpan[] {
  const out: OriginSpan[] = [];
  for (const { startLine, endLine, origin } of spans) {
    if (startLine > until || out.length === most) break;
    if (endLine < from) continue;
    out.push({ startLine: Math.max(from, startLine), endLine: Math.min(until, endLine), origin });
  }
  return out;
}

/** Index of the first entry behind a name, in byte order. */
function behind(entries: readonly TreeEntry[], name: string): number {
  const bytes = Buffer.from(name);
  const at = entries.findIndex((entry) => Buffer.compare(Buffer.from(entry.name), bytes) > 0);
  return at === -1 ? entries.length : at;
}

function toSpan({ startLine, endLine, origin }: OriginSpan): OriginSpanMessage {
  return {
    $typeName: "gin.v1.OriginSpan",
    startLine: BigInt(startLine),
    endLine: BigInt(endLine),
    origin: toOrigin(origin),
  };
}

function toEntry({ name, content }: TreeEntry, fact: OriginFact | undefined): OriginEntry {
  const kind = content === null ? PathKind.DIRECTORY : content.kind === "symlink" ? PathKind.SYMLINK : PathKind.FILE;
  return { $typeName: "gin.v1.OriginEntry", name, kind, origin: toOrigin(fact) };
}

/** Facts live as long as the history room remembers them, and thousands of lines share one: their messages do as well. */
const MESSAGES = new WeakMap<OriginFact, OriginMessage>();

const UNKNOWN: OriginMessage = {
  $typeName: "gin.v1.Origin",
  checkpoint: "",
  cause: Cause.UNSPECIFIED,
  principal: "",
  requestId: "",
  message: "",
  generation: 0n,
  unknown: true,
};

function toOrigin(fact: OriginFact | undefined): OriginMessage {
  if (fact === undefined) return UNKNOWN;
  const known = MESSAGES.get(fact);
  if (known !== undefined) return known;
  const { checkpoint, cause, principal, requestId, message, generation, timeMs } = fact;
  const made: OriginMessage = {
    $typeName: "gin.v1.Origin",
    checkpoint,
    cause: toCause(cause),
    principal,
    requestId,
    message,
    time: timestampFromMs(timeMs),
    generation: BigInt(generation),
    unknown: false,
  };
  MESSAGES.set(fact, made);
  return made;
}

function expired(path: string): GinError {
  return new GinError("CURSOR_EXPIRED", "what the cursor pages through is no longer kept", undefined, { facts: { path } });
}
