import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../../helpers/temp.ts";
import { listen } from "./watching.ts";

test("events that the system dropped while nobody took them: everything is to be looked at", async (ctx) => {
  if (process.platform !== "linux") ctx.skip("the queue of inotify is Linux's");
  const queued = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));
  if (queued > 65_536) ctx.skip(`${queued} events are kept here: too many to fill`);
  const root = tempDir("flood");
  for (const name of ["a", "b"]) mkdirSync(join(root, name));
  const { ear, watcher } = await listen(root, "native");
  // This process stands still meanwhile, so the events pile up; those of `b` come when the queue is full.
  const script = `const fs = require("fs");
    for (let i = 0; i <= ${queued}; i++) fs.writeFileSync("a/" + (i % 500), String(i));
    fs.writeFileSync("b/lost", "x");`;
  execFileSync(process.execPath, ["-e", script], { cwd: root });
  await ear.until(() => expect(ear.overflows).toEqual(["flood"]));
  expect(watcher.health().state).toBe("watching");
  ear.forget();
  writeFileSync(join(root, "b/later"), "x");
  await ear.hears("b/later");
  expect(ear.overflows).toEqual([]);
});
