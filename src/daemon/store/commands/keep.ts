import type { Handler } from "../work.ts";
import { mustPutRequest, putObjects, putRequest } from "./put.ts";

/** Contents alone: what ReadPath served must stay mergeable. */
export const objects: Handler<"objects"> = {
  durable: false,
  objects: (value) => value.objects,
  run(work, value) {
    putObjects(work, value.objects);
    work.garbage.keep({ objects: value.objects.map(({ sha256 }) => sha256), nodes: [] });
    return null;
  },
};

/** A refusal, for RequestOutcome. */
export const refusal: Handler<"refusal"> = {
  durable: false,
  run(work, value) {
    putRequest(work, { ...value, outcome: "rejected" });
    return null;
  },
};

/** The outcome of what was done elsewhere. */
export const request: Handler<"request"> = {
  durable: true,
  run(work, value) {
    mustPutRequest(work, value);
    return null;
  },
};

/** A long list; one with the same id gives way. */
export const detail: Handler<"detail"> = {
  durable: false,
  run(work, { id, workspace, principal, kind, body, timeMs }) {
    work
      .statement(
        "INSERT INTO detail(id, workspace, principal, kind, body, time_ms) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET body = excluded.body, time_ms = excluded.time_ms",
      )
      .run(id, workspace, principal, kind, body, timeMs);
    return null;
  },
};
