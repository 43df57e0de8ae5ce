import type { LspAnswer, LspAsk } from "../types.ts";
import type { Handler, Room } from "./types.ts";

/** The servers that run, ran, or would be used, and how they are. Asks none of them. */
export const status: Handler = async (room, question) => answer(room, question);

/** Ends servers, so that the next question starts them anew: one that is broken, or believes what is not so. */
export const restart: Handler = async (room, question) => {
  await room.pool.restart(question.workspace, question.server);
  return answer(room, question);
};

function answer({ pool }: Room, { workspace, server }: LspAsk): LspAnswer {
  const servers = pool.status(workspace).filter((one) => server === undefined || one.server === server);
  // One that is not in the table, or not installed, is said to be so.
  if (server !== undefined && servers.length === 0) pool.serverFor(workspace, { server });
  return {
    server: server ?? "",
    serverVersion: "",
    state: "ready",
    sha256: "",
    generation: 0,
    partial: false,
    note: "",
    found: { kind: "servers", servers },
  };
}
