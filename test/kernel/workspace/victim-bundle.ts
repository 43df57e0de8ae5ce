import { spawnSync } from "node:child_process";
import { bundleProgram } from "../../helpers/victim.ts";
import type { Orders } from "./victim.ts";

/** Runs a victim to its end; true when it was killed. Throws when it failed by itself. */
export type RunVictim = (orders: Omit<Orders, "worker">) => boolean;

/** Bundles the victim once: a process a kill would otherwise spend its time on compiling. */
export async function bundleVictim(): Promise<RunVictim> {
  const { victim, worker } = await bundleProgram("test/kernel/workspace/victim.ts");
  return (orders) => {
    const ended = spawnSync(process.execPath, [victim, JSON.stringify({ ...orders, worker })], {
      encoding: "utf8",
      env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
    });
    if (ended.signal !== "SIGKILL" && ended.status !== 0) throw new Error(`the victim failed by itself: ${ended.stderr}`);
    return ended.signal === "SIGKILL";
  };
}
