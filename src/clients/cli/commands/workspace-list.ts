import type { Command } from "../command.ts";
import { list } from "../output.ts";
import { WORKSPACE_HEAD, workspaceRow } from "../workspaces.ts";

/** The host's workspaces. */
export const command: Command = {
  usage: "workspace list",
  async run(context) {
    const answer = await context.session().admin("ListWorkspaces");
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const rows = list(answer, "workspaces").map(workspaceRow);
    if (rows.length === 0) out.line("no workspaces: gin workspace open DIR makes one");
    else out.table(WORKSPACE_HEAD, rows);
  },
};
