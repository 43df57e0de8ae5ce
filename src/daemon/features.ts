import type { Config } from "../paths/index.ts";
import type { FeatureFact } from "./api/index.ts";
import type { FilesFeatures } from "./workspace/index.ts";

/** What is really in force on this machine, for Capabilities. */
export function featuresOf(config: Config, files: FilesFeatures): readonly FeatureFact[] {
  const walked = files.confinement === "handle-walk";
  const exchanged = files.replace === "exchange";
  return [
    {
      name: "path_confinement",
      value: files.confinement,
      note: walked ? "every path is walked from the root's handle" : "weaker: identities are compared after opening",
    },
    {
      name: "exchange",
      value: files.replace,
      note: exchanged
        ? "a file is replaced in one step"
        : "the old file is moved away before the new one comes: koffi is missing, or the system cannot",
    },
    {
      name: "durability",
      value: config.durability,
      note:
        config.durability === "strict"
          ? "each file is on disk before the answer"
          : "the journal is on disk before the answer, files follow",
    },
    { name: "lease_policy", value: config.require_lease, note: "who must hold a lease to write" },
    watcherOf(config.watcher),
  ];
}

/** The kind that is asked for; how it does in a workspace (it may have to poll) says Context. */
function watcherOf(kind: Config["watcher"]): FeatureFact {
  const value = kind !== "auto" ? kind : process.platform === "linux" ? "native" : "chokidar";
  const note =
    value === "off"
      ? "a path is compared with the disk when it is read or saved"
      : value === "polling"
        ? "the tree is looked at again and again"
        : "changes outside gin are recorded when they have settled; Context says how it does";
  return { name: "watcher", value, note };
}
