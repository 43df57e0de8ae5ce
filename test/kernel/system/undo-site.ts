// A workspace with work to take back, and the handlers that do it, without a listener: what a killed process runs.
import { join } from "node:path";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { undoHandlers } from "../../../src/daemon/api/handlers/undo.ts";
import type { Ground, Invocation } from "../../../src/daemon/api/invocation.ts";
import { type Caller, SCOPES, systemClock, systemRandom } from "../../../src/daemon/base/index.ts";
import { createDiffer } from "../../../src/daemon/history/index.ts";
import type { EditInput } from "../../../src/daemon/workspace/index.ts";
import {
  RedoRequestSchema,
  RedoResponseSchema,
  UndoRequestSchema,
  type UndoRequestSchema as UndoRequestType,
  type UndoResponse,
  UndoResponseSchema,
} from "../../../src/gen/gin/v1/undo_pb.ts";
import { hashOf } from "../workspace/model.ts";
import { diskFiles, type Site, saveInput } from "../workspace/site.ts";

const OWNER: Caller = {
  principal: "owner",
  transport: "socket",
  scopes: new Set(SCOPES),
  workspaces: undefined,
  paths: undefined,
  tokenId: undefined,
  client: "test/1",
};

const differ = createDiffer();

/** Ends what the handlers share. */
export const closeDiffer = (): Promise<void> => differ.close();

/** What to take back. */
export type Select = NonNullable<MessageInitShape<typeof UndoRequestType>["select"]>;

/** Undoes as the dispatcher would. */
export async function undoIn(
  site: Site,
  requestId: string,
  select: Select,
  more: { readonly preview?: boolean; readonly skipConflicts?: boolean } = {},
): Promise<UndoResponse> {
  const request = create(UndoRequestSchema, { requestId, select, ...more });
  const { undo } = undoHandlers(groundOf(site));
  return await undo(request, {
    ...callOf(site),
    remember: (response, kept) => row(site, requestId, "Undo", toBinary(UndoResponseSchema, kept ?? response)),
  } as Invocation<"undo">);
}

/** Redoes as the dispatcher would; gives the checkpoint. */
export async function redoIn(site: Site, requestId: string, undo: string): Promise<string> {
  const { redo } = undoHandlers(groundOf(site));
  const answer = await redo(create(RedoRequestSchema, { requestId, undo }), {
    ...callOf(site),
    remember: (response, kept) => row(site, requestId, "Redo", toBinary(RedoResponseSchema, kept ?? response)),
  } as Invocation<"redo">);
  return answer.checkpoint;
}

function groundOf(site: Site): Ground {
  const { store } = site;
  const parts = {
    store,
    reader: store.read,
    differ,
    clock: systemClock,
    random: systemRandom,
    leases: { judge: () => undefined },
    requireLease: "never",
  };
  // What the two handlers stand on, and nothing else.
  return parts as unknown as Ground;
}

function callOf(site: Site): Pick<Invocation, "caller" | "target" | "hosted" | "signal"> {
  const { rowid, id, root } = site.workspace;
  const target = {
    rowid,
    id,
    name: "ws",
    repository: "rp",
    repositoryName: "ws",
    root,
    trusted: false,
    workspace: site.workspace,
  };
  return { caller: OWNER, target, hosted: target, signal: new AbortController().signal };
}

function row(site: Site, id: string, operation: string, answer: Uint8Array) {
  const { rowid } = site.workspace;
  const digest = "00".repeat(32);
  return { scope: rowid, principal: "owner", id, operation, digest, outcome: "committed", answer, timeMs: 0 } as const;
}

/** Lines above the size from which contents lie in side files: what undo makes of them is new there. */
const WIDE = Array.from({ length: 30_000 }, (_, index) => `a line of a large file, number ${index}\n`);

/** Two agents' work in the same files, with everything an undo has to bring back. */
export async function prepare(site: Site): Promise<void> {
  let serial = 0;
  const save = async (principal: string, edits: EditInput[]): Promise<void> => {
    await site.workspace.save(saveInput(site, `p${++serial}`, edits, { principal }));
  };
  const wide = (first: string, last: string): Uint8Array => Buffer.from([first, ...WIDE, last].join(""));
  const text = (content: string): Uint8Array => Buffer.from(content);
  await save("bob", [
    { path: "a.txt", expect: "absent", content: text("1\n2\n3\n4\n5\n") },
    { path: "old/name.txt", expect: "absent", content: text("name\n") },
    { path: "gone.txt", expect: "absent", content: text("gone\n"), executable: true },
    { path: "wide.txt", expect: "absent", content: wide("first\n", "last\n") },
    { path: "run.sh", expect: "absent", content: text("#!/bin/sh\n") },
  ]);
  await save("ada", [
    { path: "a.txt", expect: hashOf(Buffer.from("1\n2\n3\n4\n5\n")), content: text("1\nada\n3\n4\n5\n") },
    { path: "old/name.txt", expect: hashOf(Buffer.from("name\n")), renameTo: "new/name.txt", content: text("ada's name\n") },
    { path: "gone.txt", expect: hashOf(Buffer.from("gone\n")), delete: true },
    { path: "made.txt", expect: "absent", content: text("made\n") },
    { path: "run.sh", expect: hashOf(Buffer.from("#!/bin/sh\n")), executable: true },
    { path: "wide.txt", expect: hashOf(Buffer.from(wide("first\n", "last\n"))), content: wide("ada\n", "last\n") },
  ]);
  await save("bob", [
    { path: "a.txt", expect: hashOf(Buffer.from("1\nada\n3\n4\n5\n")), content: text("0\n1\nada\n3\n4\nbob\n") },
    { path: "wide.txt", expect: hashOf(Buffer.from(wide("ada\n", "last\n"))), content: wide("ada\n", "bob\n") },
  ]);
}

/** The tree on disk as one comparable text: names, modes, hashes; without what is kept aside while a workspace is open. */
export function treeOf(directory: string): string {
  const files = [...diskFiles(join(directory, "ws"))]
    .filter(([path]) => !path.includes(".gin-tmp-"))
    .map(([path, { bytes, executable }]) => `${path} ${executable ? "x" : "-"} ${hashOf(bytes)}`);
  return files.sort().join("\n");
}

/** Takes back everything ada did. */
export const ADA: Select = { principal: "ada", since: "start" };
