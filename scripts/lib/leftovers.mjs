import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Processes, whatever their group or parent, whose environment holds `entry` ("NAME=value"). Linux only; elsewhere none are found. */
export function processesWith(entry) {
  if (!existsSync("/proc/self/environ")) return [];
  const found = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(entry)) continue;
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").join(" ").trim();
      // A zombie has no command line: it has ended, its parent has not looked.
      if (command !== "") found.push({ pid: Number(pid), command });
    } catch (error) {
      // It ended while we looked, or is another user's.
      if (!["ENOENT", "ESRCH", "EACCES"].includes(error.code)) throw error;
    }
  }
  return found;
}

/** Ends them at once and tells what they were. */
export function endProcessesWith(entry) {
  const found = processesWith(entry);
  for (const { pid } of found) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
  return found.map(({ command }) => command);
}
