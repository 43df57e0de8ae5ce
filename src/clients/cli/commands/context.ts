import { type JsonObject, UsageError } from "../../sdk/index.ts";
import { sessionFlags } from "../again.ts";
import { type Command, flag, flags } from "../command.ts";
import { brief, bytes, duration, list, object, short, text, texts } from "../output.ts";
import { showLine } from "../terminal.ts";
import { importFacts } from "../workspaces.ts";

/** How changes outside are noticed: "native, 120 directories". */
function watcherFacts(watcher: JsonObject): string {
  if (text(watcher, "kind") === "") return "";
  const directories = text(watcher, "directories");
  const parts = [text(watcher, "kind"), directories === "0" ? "" : `${directories} directories`, text(watcher, "note")];
  return parts.filter((part) => part !== "").join(", ");
}

/** Where HEAD is: "main at 1a2b3c4d5e6f, not the base's commit". */
function gitFacts(git: JsonObject): string {
  if (git.head_moved === undefined) return "";
  const at = text(git, "head_commit") === "" ? "no commit" : brief(text(git, "head_commit"));
  return `${text(git, "branch") || "detached"} at ${at}${git.head_moved === true ? ", not the base's commit" : ""}`;
}

/** Language servers with their states: "typescript ready, gopls not_installed"; whether they may run the workspace's code. */
function serverFacts(answer: JsonObject): string {
  const servers = list(answer, "servers").map((one) => `${text(one, "server")} ${text(one, "state")}`);
  const trusted = answer.trusted === true ? ["the workspace is trusted"] : [];
  return [...servers, ...trusted].join(", ");
}

/** Where the workspace stands: what an agent asks first. */
export const command: Command = {
  usage: "context [--since GENERATION] [--full] [--section NAME]…",
  flags: { since: { type: "string" }, full: { type: "boolean" }, section: { type: "string", multiple: true } },
  help: [
    ["--since GENERATION", "what changed since the generation you know"],
    ["--full", "longer lists"],
    ["--section NAME", "leases, changes, root, history, import, watcher, git or servers; may be repeated"],
  ],
  async run(context) {
    const since = flag(context, "since");
    if (since !== undefined && !/^\d{1,20}$/.test(since)) throw new UsageError(`--since takes a generation, not "${since}"`);
    const answer = await context.session().run("context", {
      ...(since !== undefined && { since_generation: since }),
      full: context.values.full === true,
      sections: flags(context, "section"),
    });
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    const state = object(answer, "state");
    const pending = text(answer, "apply_pending");
    out.facts([
      ["workspace", `${text(answer, "workspace_name")} (${text(answer, "workspace")})`],
      ["repository", `${text(answer, "repository_name")} (${text(answer, "repository")})`],
      ["root", text(answer, "root")],
      ["status", [text(answer, "status"), text(answer, "status_note")].filter((part) => part !== "").join(": ")],
      ["generation", text(state, "generation")],
      ["epoch", text(state, "epoch")],
      ["incarnation", text(state, "incarnation")],
      ["head", text(state, "head")],
      ["base", text(answer, "base")],
      ["published", text(answer, "published")],
      ["principal", text(answer, "principal")],
      [
        "history",
        `${bytes(text(answer, "history_bytes"))}, complete since ${text(answer, "history_complete_since") || "the start"}`,
      ],
      ["not yet on disk", pending === "0" ? "" : pending],
      ["import", importFacts(object(answer, "import"))],
      ["watcher", watcherFacts(object(answer, "watcher"))],
      ["git", gitFacts(object(answer, "git"))],
      ["servers", serverFacts(answer)],
    ]);
    const leases = list(answer, "leases");
    if (leases.length > 0) out.line();
    for (const lease of leases) {
      const fence =
        text(lease, "lease_incarnation") === ""
          ? ""
          : `, fence ${text(lease, "lease_incarnation")} ${text(lease, "lease_epoch")}`;
      const where = texts(lease, "paths").join(" ") || "the whole workspace";
      out.line(
        showLine(
          `lease ${text(lease, "lease_id")} ${text(lease, "holder")}: ${where}, ${duration(text(lease, "remaining_ms"))} left${fence}`,
        ),
      );
    }
    const changes = list(answer, "changes");
    if (changes.length === 0) return;
    out.line();
    const rows = changes.map((change) => [
      brief(text(change, "id"), 24),
      short(text(change, "cause"), "CAUSE_"),
      text(change, "principal") || "unknown",
      list(change, "paths")
        .slice(0, 3)
        .map((path) => text(path, "path"))
        .join(" "),
      text(change, "message"),
    ]);
    out.table(["checkpoint", "cause", "principal", "paths", "message"], rows);
    if (answer.changes_cut === true) out.line(out.style("dim", `more: gin log${sessionFlags(context.argv)}`));
  },
};
