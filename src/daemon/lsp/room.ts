import { setMaxListeners } from "node:events";
import { type Clock, type Fs, GinError, type Programs, type Random } from "../base/index.ts";
import { editHandlers } from "./edits/index.ts";
import type { Pool } from "./pool/types.ts";
import {
  createOutside,
  createViews,
  createVocabularies,
  type Handlers,
  Links,
  located,
  Projects,
  queryHandlers,
  type Room,
  withoutRoot,
} from "./queries/index.ts";
import type { Lsp, LspAnswer, LspAsk } from "./types.ts";

/** What the room is made of. */
export interface LspDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: Fs;
  readonly programs: Pick<Programs, "realpath">;
  /** Whether a path holds a protected name: such files outside are never read. */
  readonly isSensitive: (path: string) => boolean;
  /** Absolute roots of every workspace of the host: what lies there is not read as a file outside of this one. Default none. */
  readonly roots?: () => readonly string[];
}

/** Every action and who answers it. */
const HANDLERS: Handlers = { ...queryHandlers, ...editHandlers };

/** Actions that a name without a file may be asked of. */
const BY_NAME: ReadonlySet<string> = new Set([
  "definition",
  "type_definition",
  "implementation",
  "references",
  "hover",
  "incoming_calls",
  "outgoing_calls",
  "rename",
  "code_actions",
]);

/** Makes the room of language servers. */
export function createLsp(deps: LspDeps): Lsp {
  const { pool, clock } = deps;
  const room: Room = {
    pool,
    clock,
    views: createViews(deps.random.bytes(32)),
    outside: createOutside(deps),
    vocabularies: createVocabularies(clock),
    projects: new Projects(),
    links: new Links(),
  };
  return {
    async ask(question) {
      try {
        return await ask(room, question);
      } catch (thrown) {
        throw withoutPaths(thrown, question.workspace.root);
      }
    },
    servers: (workspace) => pool.status(workspace),
    onServer: (listener) => pool.onStatus(listener),
    async detach(workspace) {
      room.views.forget(workspace);
      room.vocabularies.forget(workspace);
      room.projects.forget(workspace);
      room.links.forget(workspace);
      await pool.detach(workspace);
    },
    close: () => pool.close(),
  };
}

async function ask(room: Room, asked: LspAsk): Promise<LspAnswer> {
  const handler = HANDLERS[asked.action];
  if (handler === undefined) {
    throw new GinError("UNSUPPORTED", `${asked.action} cannot be asked here`, undefined, { facts: { requested: asked.action } });
  }
  if (asked.signal.aborted) throw new GinError("CANCELLED", "the caller gave up");
  const question = canonical(asked);
  // Each request within the question listens to it, and there may be many at once.
  setMaxListeners(0, question.signal);
  const deadline = { atMs: room.clock.monotonicMs() + question.timeoutMs, signal: question.signal };
  const nameless = question.path === "" && (question.symbol ?? "") !== "" && question.line === undefined;
  return handler(room, nameless && BY_NAME.has(question.action) ? await located(room, question, deadline) : question, deadline);
}

/** The question with canonical paths, each of which the caller may touch. Throws PATH_*, SCOPE_FORBIDDEN. */
function canonical(question: LspAsk): LspAsk {
  const { workspace, authorise, path, paths, edits } = question;
  const allowed = (asked: string): string => {
    const one = workspace.canonical(asked);
    authorise(one);
    return one;
  };
  return {
    ...question,
    path: path === "" ? "" : allowed(path),
    ...(paths === undefined ? {} : { paths: paths.map(allowed) }),
    ...(edits === undefined ? {} : { edits: edits.map((edit) => ({ ...edit, path: allowed(edit.path) })) }),
  };
}

/** What a server says of its work or of its refusal has absolute paths in it: without that of the workspace. */
function withoutPaths(thrown: unknown, root: string): unknown {
  if (!(thrown instanceof GinError) || (thrown.reason !== "LSP_REFUSED" && thrown.reason !== "NOT_READY")) return thrown;
  const { reason, message, suggestion, facts, retryable, retryAfterMs } = thrown;
  const told = facts["message"];
  const plain = typeof told === "string" ? { ...facts, message: withoutRoot(root, told) } : facts;
  const more = { facts: plain, retryable, retryAfterMs, cause: thrown };
  return new GinError(reason, withoutRoot(root, message), suggestion, more);
}
