import type { Hash } from "../../store/index.ts";
import type { Dependencies, Mirror } from "../mirror/types.ts";
import { withoutRoot } from "../queries/locations.ts";
import type { Run, Session } from "../session/types.ts";
import { languagesOf } from "../table/servers.ts";
import type { ServerSpec } from "../table/types.ts";
import type { LspWorkspace, ServerStatus } from "../types.ts";
import { projectNote } from "./project.ts";
import type { Found } from "./types.ts";

/** A server of one workspace and folder, over its starts: what it is, who asks it, and what it last said of itself. */
export class Entry {
  readonly workspace: LspWorkspace;
  readonly spec: ServerSpec;
  readonly folder: string;
  readonly session: Session;
  /** The program it is started with. */
  readonly found: Found;
  /** Questions under way: while there are any it is not ended for idleness or memory. */
  users = 0;
  /** Monotonic milliseconds of the last release. */
  usedMs: number;
  /** As last measured; 0 when it does not run. */
  bytes = 0;
  /** Ends the wait for idleness. */
  cancelIdle: (() => void) | undefined;
  /** The head's tree when the process that runs was started. */
  since: Hash;
  /** What its server knows of dependencies, as last looked at. */
  dependencies: Dependencies | undefined;
  #mirror: Mirror | undefined;
  #run: Run | undefined;
  #info: { readonly name: string; readonly version: string } = { name: "", version: "" };

  constructor(workspace: LspWorkspace, spec: ServerSpec, folder: string, session: Session, found: Found, nowMs: number) {
    this.workspace = workspace;
    this.spec = spec;
    this.folder = folder;
    this.session = session;
    this.found = found;
    this.usedMs = nowMs;
    this.since = workspace.tree();
  }

  /** The mirror of a run: another run knows nothing of what was told to the one before. */
  mirrorOf(run: Run, make: () => Mirror): Mirror {
    if (this.#mirror !== undefined && this.#run === run) return this.#mirror;
    this.#mirror?.close();
    const mirror = make();
    this.#mirror = mirror;
    this.#run = run;
    this.#info = { name: run.info?.name ?? "", version: run.info?.version ?? "" };
    void run.ended.then(() => {
      if (this.#mirror === mirror) this.letGo();
    });
    return mirror;
  }

  /** Forgets what the run was told. */
  letGo(): void {
    this.#mirror?.close();
    this.#mirror = undefined;
    this.#run = undefined;
    this.bytes = 0;
  }

  status(nowMs: number): ServerStatus {
    const { session, spec, folder, workspace } = this;
    const runs = session.pid !== undefined;
    const doing = session.state === "indexing" ? withoutRoot(workspace.root, session.progress.join("; ")) : "";
    return {
      server: spec.id,
      folder,
      state: session.state,
      ...this.#info,
      note: [session.note, doing, projectNote(workspace, spec, this.#info.version)].filter((one) => one !== "").join("; "),
      install: "",
      languages: languagesOf(spec),
      residentBytes: runs ? this.bytes : 0,
      openDocuments: this.#mirror?.opened ?? 0,
      restarts: session.restarts,
      idleMs: this.users === 0 && runs ? Math.round(nowMs - this.usedMs) : 0,
      stderrTail: session.stderrTail,
    };
  }
}
