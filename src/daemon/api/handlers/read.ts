import { createHash } from "node:crypto";
import { PathKind } from "../../../gen/gin/v1/common_pb.ts";
import type { Entry, ReadPathRequest, ReadPathResponse } from "../../../gen/gin/v1/read_pb.ts";
import { GinError, type Json } from "../../base/index.ts";
import type { Content } from "../../store/index.ts";
import type { HeadRead, ListedEntry } from "../../workspace/index.ts";
import { type CursorScope, pageSize } from "../cursors.ts";
import { type Ground, type Handlers, type Invocation, stateOf, type Target, targetOf } from "../invocation.ts";
import { checkMost, invalid, isHash, LIMITS } from "../limits.ts";
import { requirePath } from "../resolve.ts";
import {
  ByHash,
  type ByteSource,
  countLines,
  factsOf,
  lineOffset,
  pageOf,
  scanFacts,
  sourceOf,
  type TextFacts,
  textOf,
} from "./content.ts";
import { bytesOf, findSnapshot, isHead, lookUp, treePath } from "./snapshot.ts";

const KINDS = {
  file: PathKind.FILE,
  directory: PathKind.DIRECTORY,
  symlink: PathKind.SYMLINK,
  special: PathKind.SPECIAL,
} as const;

/** A file that is read: its facts, its bytes, and where it was found. */
interface FoundFile {
  readonly path: string;
  readonly content: Content;
  readonly source: ByteSource;
  readonly bytes: Uint8Array | undefined;
  readonly checkpoint: string;
  readonly state: ReturnType<typeof stateOf>;
}

/** Where the next page of a file starts. */
interface FilePlace {
  readonly path: string;
  readonly sha256: string;
  readonly executable: boolean;
  readonly offset: number;
  readonly end: number;
  readonly line: number;
  readonly checkpoint: string;
}

/** What an answer says; the rest of its fields are at their zero. */
type Given = Partial<Omit<ReadPathResponse, "state" | "$typeName">> & { readonly state: ReturnType<typeof stateOf> };

/** Contents being paged through, kept so that each page does not unpack and verify the whole again. */
const RECENT_CONTENTS = 2;

/** ReadPath: files, directories and symlinks, from disk at head and from trees elsewhere. */
export function readHandlers(ground: Ground): Pick<Handlers, "readPath"> {
  const caches: Caches = { facts: new ByHash(1_024), recent: new ByHash(RECENT_CONTENTS) };
  return { readPath: (request, call) => new PathReader(ground, caches, request, call).read() };
}

interface Caches {
  readonly facts: ByHash<TextFacts>;
  readonly recent: ByHash<Uint8Array>;
}

class PathReader {
  readonly #ground: Ground;
  readonly #cache: ByHash<TextFacts>;
  readonly #recent: ByHash<Uint8Array>;
  readonly #request: ReadPathRequest;
  readonly #call: Invocation;
  readonly #target: Target;

  constructor(ground: Ground, caches: Caches, request: ReadPathRequest, call: Invocation) {
    this.#ground = ground;
    this.#cache = caches.facts;
    this.#recent = caches.recent;
    this.#request = request;
    this.#call = call;
    this.#target = targetOf(call);
  }

  read(): Promise<ReadPathResponse> {
    const { snapshot, ifHash, startLine, endLine } = this.#request;
    if (ifHash !== "" && !isHash(ifHash)) throw invalid("if_hash", "must be a SHA-256 in lower-case hex");
    if (endLine !== 0 && endLine < startLine) throw invalid("end_line", "is before start_line");
    return isHead(snapshot) ? this.#readHead() : this.#readSnapshot();
  }

  async #readHead(): Promise<ReadPathResponse> {
    const position = this.#position();
    if (position !== undefined && !Array.isArray(position)) return this.#continue(position as unknown as FilePlace);
    const { path } = this.#request;
    const authorise = (canonical: string): void => requirePath(this.#call.caller, canonical);
    const read = await this.#target.workspace.readHead(path === "." ? "" : path, {
      authorise,
      // Line count and encoding are facts too: they need the bytes even when the caller does not want them.
      content: true,
      signal: this.#call.signal,
    });
    switch (read.kind) {
      case "file":
      case "large":
        return this.#withFile(read, (file) => this.#first(file));
      case "directory":
        return this.#directory(read.path, read.entries, stateOf(read.state), position);
      case "symlink":
        return messageOf({ path: read.path, kind: PathKind.SYMLINK, linkTarget: read.target, state: stateOf(read.state) });
    }
  }

  async #withFile<T>(read: HeadRead & { kind: "file" | "large" }, use: (file: FoundFile) => Promise<T>): Promise<T> {
    const { path, content, checkpoint } = read;
    const state = stateOf(read.state);
    if (read.kind === "file") {
      // Committed content that waits to be put on disk may come without its bytes: the store has them.
      const bytes = read.bytes.byteLength === content.size ? read.bytes : bytesOf(this.#ground, path, content.sha256);
      return use({ path, content, checkpoint, state, source: sourceOf(bytes), bytes });
    }
    try {
      const source = { size: content.size, read: read.read };
      return await use({ path, content, checkpoint, state, source, bytes: undefined });
    } finally {
      read.close();
    }
  }

  /** The next page of a file read at head: from the store when it is kept there, else from a disk that has not changed. */
  async #continue(place: FilePlace): Promise<ReadPathResponse> {
    requirePath(this.#call.caller, place.path);
    const bytes = this.#recent.get(place.sha256) ?? this.#ground.reader.object(place.sha256);
    const state = stateOf(this.#target.workspace.state());
    if (bytes !== undefined) {
      this.#recent.set(place.sha256, bytes);
      const content: Content = { kind: "file", sha256: place.sha256, size: bytes.byteLength, executable: place.executable };
      const file = { path: place.path, content, checkpoint: place.checkpoint, state, source: sourceOf(bytes), bytes };
      return this.#page(file, await this.#facts(file), place);
    }
    const read = await this.#target.workspace.readHead(place.path, {
      authorise: (canonical) => requirePath(this.#call.caller, canonical),
      content: true,
      signal: this.#call.signal,
    });
    if (read.kind !== "file" && read.kind !== "large") throw expired(place.path);
    return this.#withFile(read, async (file) => {
      if (file.content.sha256 !== place.sha256) throw expired(place.path);
      return this.#page(file, await this.#facts(file), place);
    });
  }

  async #readSnapshot(): Promise<ReadPathResponse> {
    const snapshot = findSnapshot(this.#ground, this.#target, this.#request.snapshot);
    const path = treePath(this.#request.path);
    requirePath(this.#call.caller, path);
    const found = lookUp(this.#ground, snapshot, path);
    const state = stateOf(this.#target.workspace.state());
    const { checkpoint } = snapshot;
    if (found === "directory" || found === null) {
      const entries = (this.#ground.store.trees.list(snapshot.tree, path) ?? []).map(({ name, content }) => ({
        name,
        kind: content === null ? ("directory" as const) : content.kind,
        size: content?.size ?? 0,
        executable: content?.executable ?? false,
        ...(content === null ? {} : { sha256: content.sha256 }),
        sensitive: false,
      }));
      return this.#directory(path, entries, state, this.#position(), checkpoint);
    }
    if (found.kind === "symlink") {
      const linkTarget = textOf(bytesOf(this.#ground, path, found.sha256));
      return messageOf({ path, kind: PathKind.SYMLINK, linkTarget, state, checkpoint });
    }
    const place = this.#position();
    if (this.#request.content === false || this.#request.ifHash === found.sha256) {
      return this.#factsOnly(path, found, checkpoint, state);
    }
    const bytes = bytesOf(this.#ground, path, found.sha256);
    const file = { path, content: found, checkpoint, state, source: sourceOf(bytes), bytes };
    if (place === undefined || Array.isArray(place)) return this.#first(file);
    return this.#page(file, await this.#facts(file), place as unknown as FilePlace);
  }

  /** Without the bytes: what is known of the text is said where they are kept, else left empty. */
  async #factsOnly(path: string, content: Content, checkpoint: string, state: FoundFile["state"]): Promise<ReadPathResponse> {
    const bytes = this.#ground.reader.object(content.sha256);
    const source = sourceOf(bytes ?? new Uint8Array(0));
    const file = { path, content, checkpoint, state, source, bytes };
    const facts = bytes === undefined ? this.#cache.get(content.sha256) : await this.#facts(file);
    const answer = fileMessage(file, facts);
    answer.unchanged = this.#request.ifHash === content.sha256;
    return answer;
  }

  async #first(file: FoundFile): Promise<ReadPathResponse> {
    const { content, ifHash, startLine, endLine } = this.#request;
    const unchanged = ifHash !== "" && ifHash === file.content.sha256;
    const known = this.#cache.get(file.content.sha256);
    if (unchanged || content === false) {
      const answer = fileMessage(file, known ?? (await this.#facts(file)));
      answer.unchanged = unchanged;
      return answer;
    }
    const facts = known ?? (await this.#facts(file));
    let offset = 0;
    let end = file.content.size;
    if (startLine !== 0 || endLine !== 0) {
      if (!facts.utf8) throw invalid(startLine === 0 ? "end_line" : "start_line", "the file is not text and has no lines");
      offset = await lineOffset(file.source, startLine, this.#call.signal);
      if (endLine !== 0) end = await lineOffset(file.source, endLine + 1, this.#call.signal);
    }
    const { path, checkpoint } = file;
    const { sha256, executable } = file.content;
    return this.#page(file, facts, { path, sha256, executable, offset, end, line: Math.max(1, startLine), checkpoint });
  }

  async #page(file: FoundFile, facts: TextFacts, place: FilePlace): Promise<ReadPathResponse> {
    const limit = pageSize(this.#request.limit, LIMITS.page_default_bytes.value);
    checkMost("page_max_bytes", limit, "limit");
    const page = await pageOf(file.source, facts.utf8, place.offset, place.end, limit);
    const line = place.line;
    const next: FilePlace | undefined =
      page.next < place.end
        ? { ...place, offset: page.next, line: facts.utf8 ? line + countLines(page.bytes) : line }
        : undefined;
    const answer = fileMessage(file, facts);
    if (facts.utf8) {
      answer.text = textOf(page.bytes);
      answer.firstLine = BigInt(line);
    } else {
      answer.data = page.bytes;
    }
    answer.offset = BigInt(page.offset);
    if (next !== undefined) answer.nextCursor = this.#ground.cursors.seal(this.#scope(), { ...next });
    return answer;
  }

  async #facts(file: FoundFile): Promise<TextFacts> {
    const { sha256 } = file.content;
    const known = this.#cache.get(sha256);
    if (known !== undefined) return known;
    if (file.bytes !== undefined) return this.#cache.set(sha256, factsOf(file.bytes));
    return this.#cache.set(sha256, await scanFacts(file.source, this.#call.signal));
  }

  #directory(
    path: string,
    listed: readonly ListedEntry[],
    state: ReturnType<typeof stateOf>,
    position: Json | undefined,
    checkpoint = "",
  ): ReadPathResponse {
    const limit = pageSize(this.#request.limit, LIMITS.list_default_entries.value);
    checkMost("list_max_entries", limit, "limit");
    const names = createHash("sha256");
    for (const entry of listed) names.update(`${entry.kind}/${entry.name}\0`);
    const digest = names.digest("base64url");
    const [from, then] = Array.isArray(position) ? (position as [number, string]) : [0, digest];
    if (then !== digest) throw expired(path);
    const next = from + limit;
    return messageOf({
      path,
      kind: PathKind.DIRECTORY,
      state,
      checkpoint,
      entries: listed.slice(from, next).map(toEntry),
      nextCursor: next < listed.length ? this.#ground.cursors.seal(this.#scope(), [next, digest]) : "",
    });
  }

  #position(): Json | undefined {
    return this.#request.cursor === "" ? undefined : this.#ground.cursors.open(this.#scope(), this.#request.cursor);
  }

  #scope(): CursorScope {
    const { path, snapshot, startLine, endLine } = this.#request;
    const query = [this.#target.id, path, isHead(snapshot) ? "head" : snapshot, startLine, endLine];
    return { operation: "ReadPath", principal: this.#call.caller.principal, query };
  }
}

/** The answer, written out: `create` and spreading a blank one each cost more than the rest of a small answer. */
function messageOf(given: Given): ReadPathResponse {
  const { incarnation, generation, epoch, head } = given.state;
  const message: ReadPathResponse = {
    $typeName: "gin.v1.ReadPathResponse",
    state: { $typeName: "gin.v1.State", incarnation, generation, epoch, head },
    path: given.path ?? "",
    kind: given.kind ?? PathKind.UNSPECIFIED,
    size: given.size ?? 0n,
    sha256: given.sha256 ?? "",
    executable: given.executable ?? false,
    linkTarget: given.linkTarget ?? "",
    encoding: given.encoding ?? "",
    lineEnding: given.lineEnding ?? "",
    bom: given.bom ?? false,
    lineCount: given.lineCount ?? 0n,
    unchanged: given.unchanged ?? false,
    entries: given.entries ?? [],
    nextCursor: given.nextCursor ?? "",
    offset: given.offset ?? 0n,
    checkpoint: given.checkpoint ?? "",
    firstLine: given.firstLine ?? 0n,
  };
  if (given.text !== undefined) message.text = given.text;
  if (given.data !== undefined) message.data = given.data;
  return message;
}

/** The answer about a file, without its content. */
function fileMessage(file: FoundFile, facts: TextFacts | undefined): ReadPathResponse {
  const message = messageOf({
    state: file.state,
    path: file.path,
    kind: PathKind.FILE,
    size: BigInt(file.content.size),
    sha256: file.content.sha256,
    executable: file.content.executable,
    checkpoint: file.checkpoint,
  });
  if (facts === undefined) return message;
  message.encoding = facts.utf8 ? "utf-8" : "binary";
  message.lineEnding = facts.lineEnding;
  message.bom = facts.bom;
  message.lineCount = BigInt(facts.lineCount);
  return message;
}

function toEntry(entry: ListedEntry): Entry {
  return {
    $typeName: "gin.v1.Entry",
    name: entry.name,
    kind: KINDS[entry.kind],
    size: BigInt(entry.size),
    executable: entry.executable,
    sha256: entry.sha256 ?? "",
    sensitive: entry.sensitive,
  };
}

function expired(path: string): GinError {
  return new GinError("CURSOR_EXPIRED", "what the cursor pages through changed", undefined, { facts: { path } });
}
