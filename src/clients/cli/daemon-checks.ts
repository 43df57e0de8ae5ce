import { compareVersions, type HostPaths, readMetadata, VERSION } from "../../paths/index.ts";
import { EngineError, type JsonObject, type Session, TransportError } from "../sdk/index.ts";
import { quote } from "./again.ts";
import { type Check, check } from "./checks.ts";
import { list, text } from "./output.ts";
import { maybeAlive } from "./process.ts";

/** Milliseconds for the daemon to answer before it counts as wedged. */
const ANSWER_MS = 5_000;

/** Whether the daemon runs and answers, agrees with this client, and has its workspaces. The session must not spawn. */
export async function daemonChecks(session: Session, paths: HostPaths, timeoutMs = ANSWER_MS): Promise<Check[]> {
  let status: JsonObject;
  try {
    status = await session.admin("Status", {}, { timeoutMs });
  } catch (thrown) {
    if (thrown instanceof EngineError) return [check("daemon", "note", `refuses to tell its status: ${thrown.detail.reason}`)];
    if (thrown instanceof TransportError) return [silent(thrown, paths)];
    throw thrown;
  }
  const running = `gin ${text(status, "version")} answers on its socket (pid ${text(status, "pid")}, ${text(status, "mode").replace("_", " ")})`;
  return [
    check("daemon", "ok", running),
    skew(text(status, "version")),
    ...list(status, "workspaces").map((info) => workspace(info, text(status, "mode"))),
  ];
}

function silent(thrown: TransportError, paths: HostPaths): Check {
  const daemon = readMetadata(paths.metadata);
  if (daemon !== undefined && maybeAlive(daemon)) {
    return check("daemon", "wrong", `process ${daemon.pid} has the host and does not answer (${thrown.code})`, "gin stop");
  }
  const absent = ["ENOENT", "ECONNREFUSED"].includes(thrown.code);
  return absent ? check("daemon", "ok", "none is running") : check("daemon", "wrong", thrown.message, "gin stop");
}

function skew(version: string): Check {
  const difference = compareVersions(VERSION, version);
  if (difference === 0) return check("version skew", "ok", "client and daemon are the same version");
  const text = `the daemon is gin ${version}, this client ${VERSION}`;
  return difference > 0
    ? check("version skew", "note", text, "gin stop")
    : check("version skew", "note", text, "install the newer gin here too");
}

function workspace(info: JsonObject, mode: string): Check {
  const name = `workspace ${text(info, "name")}`;
  const status = text(info, "status");
  const why = text(info, "status_note");
  if (status === "active" || status === "closed") return check(name, "ok", `${status}, ${text(info, "root")}`);
  const root = quote(text(info, "root"));
  // Opening a workspace again that a failed sync stopped gives it back as it is; a new process recovers every stopped one.
  const mend =
    status === "missing"
      ? `gin workspace open ${root} once the directory is back, or gin workspace remove ${text(info, "id")}`
      : `gin stop, then ${mode === "foreground" ? `gin serve ${root}` : "gin start"}`;
  return check(name, "wrong", `${status}${why === "" ? "" : `: ${why}`}`, mend);
}
