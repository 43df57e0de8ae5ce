import type { ServerCapabilities } from "vscode-languageserver-protocol";
import type { Clock } from "../../base/index.ts";
import type { Document, Mirror, Synced, Text } from "../mirror/types.ts";
import type { Leased, Pool } from "../pool/types.ts";
import type { Deadline, Encoding, Run } from "../session/types.ts";
import type { Found, LspAction, LspAnswer, LspAsk, Place } from "../types.ts";
import type { Links } from "./links.ts";
import type { Outside } from "./outside.ts";
import type { Projects } from "./projects.ts";
import type { Views } from "./views.ts";
import type { Vocabularies } from "./vocabulary.ts";

/** What every question is answered with. */
export interface Room {
  readonly clock: Clock;
  readonly pool: Pool;
  /** Ids of files outside that answers named. */
  readonly views: Views;
  readonly outside: Outside;
  readonly vocabularies: Vocabularies;
  readonly projects: Projects;
  readonly links: Links;
}

/** Answers one action. `question.path` and `paths` are canonical and the caller may touch them. */
export type Handler = (room: Room, question: LspAsk, deadline: Deadline) => Promise<LspAnswer>;

/** The dispatch table: room.ts lays queries/ and edits/ together. */
export type Handlers = { readonly [A in LspAction]?: Handler };

/** One way of asking a server: what it needs, and the work between the sync before and the look after. `handlerOf` makes a Handler of it. */
export interface Query extends Needs {
  find(ground: Ground): Promise<Found>;
}

/** What must be there before a server is asked. */
export interface Needs {
  /** "server": nothing but one that runs; "document": the question's path, opened; "place": a place in it too. */
  readonly about: "server" | "document" | "place";
  /** UNSUPPORTED without it, whether it was advertised or registered (`method`); undefined: no ability is asked for beforehand. */
  readonly ability?: Ability;
  /**
   * While the server is indexing: "refused" is NOT_READY; "partial" is answered and said to be partial, though never when it is empty (NOT_READY then);
   * "exact" is for what it knows of a lone file without the others.
   */
  readonly indexing: "refused" | "partial" | "exact";
  /**
   * Whether it is about other files too: it is asked again when they change meanwhile, and of a server that does not see the whole project it is partial.
   * "changes": that it does not see all of it makes no difference, or the query says so itself.
   */
  readonly across: boolean | "changes";
}

/** An ability of servers. */
export interface Ability {
  readonly capability: keyof ServerCapabilities;
  readonly method: string;
}

/** What a question stands on while its server is asked: one attempt, within Mirror.shared, synced. */
export interface Ground {
  readonly room: Room;
  readonly question: LspAsk;
  readonly leased: Leased;
  readonly mirror: Mirror;
  /** mirror.run: ask through `request`. */
  readonly run: Run;
  readonly encoding: Encoding;
  readonly deadline: Deadline;
  readonly clock: Clock;
  /** What the server was told before it was asked. */
  readonly synced: Synced;
  /** The question's document; undefined only where `about` is "server". Its hash was checked against `ifHash`. */
  readonly document: Document | undefined;
  /** The place asked about, of `about` "place": by line and character, by a word on a line, or by a name. */
  readonly place: Place | undefined;
  /** Most items that a list of the answer keeps. */
  readonly most: number;
  /** A request to the server within the deadline. */
  request(method: string, params: unknown): Promise<unknown>;
  /** The text of a path of the workspace the answer speaks of: when it changes meanwhile, the server is asked again. */
  text(path: string): Promise<Text | undefined>;
  /** What the answer does not hold, for people: it becomes partial. */
  partial(note: string): void;
  /** What is to be known of the answer, for people. */
  note(note: string): void;
}

/** `ground.document`, where there is one by what the query needs. */
export function documentOf({ document }: Ground): Document {
  if (document === undefined) throw new Error("a query that is about no document asked for one");
  return document;
}

/** Params of the requests that are about a place. */
export function placeParams(ground: Ground): {
  readonly textDocument: { readonly uri: string };
  readonly position: { readonly line: number; readonly character: number };
} {
  const { uri, text } = documentOf(ground);
  if (ground.place === undefined) throw new Error("a query that is about no place asked for one");
  return { textDocument: { uri }, position: text.toServer(ground.place, ground.encoding) };
}
