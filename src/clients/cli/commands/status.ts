import type { JsonObject } from "../../sdk/index.ts";
import type { Command } from "../command.ts";
import { bytes, duration, list, text } from "../output.ts";
import { WORKSPACE_HEAD, workspaceRow } from "../workspaces.ts";

/** What the daemon is doing. Never starts one. */
export const command: Command = {
  usage: "status",
  async run(context) {
    const answer = await context.session({ noSpawn: true }).admin("Status");
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    out.facts([
      [
        "version",
        `${text(answer, "version")} (protocol ${text(answer, "protocol")}, node ${text(answer, "node")}, sqlite ${text(answer, "sqlite")})`,
      ],
      ["pid", text(answer, "pid")],
      ["up for", duration(text(answer, "uptime_ms"))],
      ["mode", `${text(answer, "mode").replace("_", " ")}${answer.draining === true ? ", draining" : ""}`],
      ["host", text(answer, "host")],
      ["data", `${text(answer, "data")} (${bytes(text(answer, "store_bytes"))})`],
      ["socket", text(answer, "socket")],
      ["endpoint", text(answer, "endpoint") || "none (socket alone)"],
      ["memory", bytes(text(answer, "resident_bytes"))],
      ["connections", text(answer, "connections")],
      ["requests", `${text(answer, "running_requests")} running, ${text(answer, "queued_saves")} saves queued`],
    ]);
    const rows = list(answer, "workspaces").map(workspaceRow);
    if (rows.length > 0) {
      out.line();
      out.table(WORKSPACE_HEAD, rows);
    }
    const clients = list(answer, "clients").map(clientRow);
    if (clients.length === 0) return;
    out.line();
    out.table(["client", "principal", "over", "connected", "requests", "now"], clients);
  },
};

/** Somebody connected: what it says it is, and whether it has something running. */
function clientRow(client: JsonObject): string[] {
  const running = text(client, "running");
  return [
    text(client, "client"),
    text(client, "principal"),
    text(client, "transport"),
    duration(text(client, "connected_ms")),
    text(client, "requests"),
    running === "0" ? `idle for ${duration(text(client, "idle_ms"))}` : `${running} running`,
  ];
}
