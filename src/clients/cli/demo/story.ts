import type { JsonObject } from "../../sdk/index.ts";
import { list, object, text, texts } from "../output.ts";
import { BY_ALICE, BY_BOB, MERGED } from "./project.ts";
import type { Stage } from "./stage.ts";

const PATH = "cart.js";

/** The line of cart.js that bob writes: where it stands after the merge. */
const BOBS_LINE = MERGED.slice(0, MERGED.indexOf("toFixed")).split("\n").length;

/**
 * Two agents in one file: they lease, save, collide, merge, leave a note, ask who wrote what and what became of a request, and one of them is
 * undone. Throws NotAsTold at the first answer that is another than the story says.
 */
export async function tellStory(stage: Stage): Promise<void> {
  const read = await stage.ask("alice", "alice reads cart.js", { read_path: { path: PATH } });
  const before = text(object(read, "read_path"), "sha256");
  stage.holds("she has the text and its hash, which is what a save has to name", before.length === 64);
  const bobs = await stage.ask("bob", "bob reads it too", { read_path: { path: PATH, content: false } });
  stage.holds("he saw the same content", text(object(bobs, "read_path"), "sha256") === before);
  await lease(stage, before);
  await collide(stage, before);
  await ask(stage);
  await undo(stage);
}

async function lease(stage: Stage, before: string): Promise<void> {
  const acquire = (who: string, intent: string): JsonObject => ({
    acquire_lease: { request_id: `${who}-lease`, paths: [PATH], intent, ttl_ms: "60000" },
  });
  const granted = await stage.ask("alice", "alice takes a lease on it", acquire("alice", "count items"));
  const held = object(object(granted, "acquire_lease"), "lease");
  stage.holds("she holds it; the fence is her permission to write", text(held, "holder") === "alice");
  const refused = object(await stage.ask("bob", "bob wants one as well", acquire("bob", "show units")), "error");
  const facts = object(refused, "facts");
  stage.holds(
    "he is refused, and told by whom and why",
    text(refused, "reason") === "LEASE_HELD" && text(facts, "holder") === "alice",
  );
  const fence = { lease_incarnation: text(held, "lease_incarnation"), lease_epoch: text(held, "lease_epoch") };
  const saved = await stage.ask("alice", "alice saves under her fence", {
    save: {
      request_id: "alice-1",
      ...fence,
      message: "count each item",
      edits: [{ path: PATH, expect: before, text: BY_ALICE }],
    },
  });
  stage.holds("it is a checkpoint, and on the disk", text(object(saved, "save"), "checkpoint") !== "");
  const release = { release_lease: { lease_id: text(held, "lease_id"), ...fence } };
  const released = await stage.ask("alice", "alice gives the lease back", release);
  stage.holds("cart.js is free again", text(object(released, "release_lease"), "released") === "true");
}

async function collide(stage: Stage, before: string): Promise<void> {
  const save = { request_id: "bob-1", message: "show whole units", edits: [{ path: PATH, expect: before, text: BY_BOB }] };
  const error = object(await stage.ask("bob", "bob saves what he read before her change", { save }), "error");
  const [path = {}] = list(object(error, "facts"), "paths");
  stage.holds("nothing is overwritten: he is refused", text(error, "reason") === "STALE_CONTENT");
  stage.holds(
    "he is told who changed it, and that a merge would be clean",
    isBy(path, "alice") && text(path, "merge") === "clean",
  );
  const merged = await stage.ask("bob", "bob sends next_call, as he was told", object(error, "next_call"));
  const [saved = {}] = list(object(merged, "save"), "paths");
  stage.holds("both changes are in the file", text(saved, "merged") === "true");
  const anchor = { path: PATH, start_line: BOBS_LINE, end_line: BOBS_LINE, sha256: text(saved, "sha256") };
  const note = await stage.ask("bob", "bob leaves a note on his line", {
    write_annotation: { request_id: "bob-note", text: "Cents become whole units here and nowhere else.", anchors: [anchor] },
  });
  stage.holds("it is kept with the checkpoint", text(object(note, "write_annotation"), "id").startsWith("an_"));
}

async function ask(stage: Stage): Promise<void> {
  const origin = object(await stage.ask("alice", "alice asks who wrote which line", { origin: { path: PATH } }), "origin");
  const writers = linesBy(origin);
  stage.holds(
    `lines 5 and 6 are hers, line ${BOBS_LINE} is bob's`,
    writers[5] === "alice" && writers[6] === "alice" && writers[BOBS_LINE] === "bob",
  );
  const others = Object.entries(writers).filter(([, who]) => who !== "alice" && who !== "bob");
  stage.holds("the rest was there before, by nobody gin knows", others.length === 10 && others.every(([, who]) => who === ""));
  const asked = await stage.ask("bob", "bob asks what became of his request", {
    request_outcome: { target_request_id: "bob-1" },
  });
  const outcome = object(asked, "request_outcome");
  stage.holds("it was committed once, with the answer he had", text(outcome, "outcome") === "OUTCOME_COMMITTED");
}

async function undo(stage: Stage): Promise<void> {
  const undone = await stage.ask("alice", "alice takes her change back", {
    undo: { request_id: "alice-2", select: { request_id: "alice-1" }, message: "counts come from the server" },
  });
  const answer = object(undone, "undo");
  stage.holds("it came back without a conflict", text(answer, "clean") === "true" && texts(answer, "undone").length === 1);
  const read = object(await stage.ask("alice", "alice reads cart.js", { read_path: { path: PATH } }), "read_path");
  stage.holds("her lines are gone and bob's stayed", text(read, "text") === BY_BOB);
  const notes = await stage.ask("bob", "bob looks for his note", { list_annotations: { path: PATH } });
  const [note = {}] = list(object(notes, "list_annotations"), "annotations");
  const [anchor = {}] = list(note, "anchors");
  stage.holds(
    `it followed his line from ${BOBS_LINE} to ${BOBS_LINE - 1}`,
    text(anchor, "standing") === "ANCHOR_STANDING_MOVED" && text(anchor, "start_line") === String(BOBS_LINE - 1),
  );
  const log = await stage.ask("alice", "the log has it all", { list_checkpoints: { path: PATH } });
  const causes = list(object(log, "list_checkpoints"), "checkpoints").map((checkpoint) => text(checkpoint, "cause"));
  stage.holds("import, two saves and an undo", causes.join() === "CAUSE_UNDO,CAUSE_SAVE,CAUSE_SAVE,CAUSE_IMPORT");
}

function isBy(path: JsonObject, who: string): boolean {
  return text(path, "changed_by") === who;
}

/** Principal of each line of an origin's answer, from 1; "" for one that is not known. */
function linesBy(origin: JsonObject): { readonly [line: number]: string } {
  const writers: { [line: number]: string } = {};
  for (const span of list(origin, "spans")) {
    const who = text(object(span, "origin"), "principal");
    for (let line = Number(text(span, "start_line")); line <= Number(text(span, "end_line")); line += 1) writers[line] = who;
  }
  return writers;
}
