import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { type JsonObject, openSession } from "../../../src/clients/sdk/index.ts";
import { chance } from "../../helpers/random.ts";
import { scaled } from "../../helpers/scale.ts";
import { atTeardown } from "../../helpers/teardown.ts";
import { tempHost } from "../../helpers/temp.ts";
import { run, runtime } from "../daemon/daemon-process.ts";
import { PatientClient } from "../system/patient.ts";

/** Watchers that follow through all of it, and savers that never stop. */
const WATCHERS = 4;
const SAVERS = 3;

it("followers over random kills and drains tell every checkpoint exactly once, in order, as ListCheckpoints has them", async () => {
  const random = chance("watch over kills");
  const { root, host } = tempHost();
  // Sessions find the socket by the variable too, as a client of the same user would.
  const env = runtime();
  process.env.XDG_RUNTIME_DIR = env.XDG_RUNTIME_DIR;
  const start = () => run({ host, roots: [root] }, { env });
  let daemon = start();
  const { socket } = await daemon.ready;

  const watchers = Array.from({ length: WATCHERS }, () => {
    const leaving = new AbortController();
    atTeardown(() => leaving.abort());
    const seen: JsonObject[] = [];
    let breaks = 0;
    const messages = openSession({ host, noSpawn: true }).watch(
      { kinds: ["WATCH_KIND_CHECKPOINT"] },
      { signal: leaving.signal, onBreak: () => (breaks += 1) },
    );
    let stood = (): void => {};
    const standing = new Promise<void>((resolve) => {
      stood = resolve;
    });
    const done = (async () => {
      for await (const message of messages) {
        stood();
        expect(message, "a gap was told").not.toHaveProperty("trimmed");
        if (message.checkpoint !== undefined) seen.push(message.checkpoint as JsonObject);
      }
    })();
    return { seen, standing, done, leave: () => leaving.abort(), breaks: () => breaks };
  });
  await Promise.all(watchers.map(({ standing }) => standing));

  let saving = true;
  const savers = Array.from({ length: SAVERS }, async (_, saver) => {
    const client = new PatientClient(socket, `saver-${saver}`);
    atTeardown(() => client.close());
    for (let index = 0; saving; index += 1) {
      const edits = [{ path: `${saver}/${index}.txt`, expect: "absent", text: `${index}\n` }];
      await client.run("save", { request_id: `s-${saver}-${index}`, edits });
    }
  });

  const rounds = scaled(6);
  for (let round = 0; round < rounds; round += 1) {
    // Mostly once everybody follows again, sometimes before.
    const told = watchers.map(({ seen }) => seen.length);
    const follow = () => watchers.every(({ seen }, index) => seen.length > (told[index] ?? 0));
    if (random.maybe(0.75)) await expect.poll(follow, { timeout: 20_000 }).toBe(true);
    await wait(random.int(300));
    daemon.child.kill(random.maybe(0.75) ? "SIGKILL" : "SIGTERM");
    await daemon.ended;
    daemon = start();
    expect((await daemon.ready).socket).toBe(socket);
  }
  saving = false;
  await Promise.all(savers);

  const client = new PatientClient(socket, "owner");
  atTeardown(() => client.close());
  const listed: string[] = [];
  let cursor = "";
  do {
    const page = await client.run("list_checkpoints", { limit: 1_000, cursor });
    listed.unshift(...(page.checkpoints as JsonObject[]).map((one) => String(one.id)).toReversed());
    cursor = String(page.next_cursor);
  } while (cursor !== "");
  const last = listed.at(-1);
  for (const { seen, done, leave, breaks } of watchers) {
    await expect.poll(() => seen.at(-1)?.id, { timeout: 20_000 }).toBe(last);
    leave();
    await done;
    // Nothing was saved before the watchers stood.
    expect(seen.map((one) => String(one.id))).toEqual(listed.slice(listed.length - seen.length));
    expect(seen.length, `seed ${random.seed}`).toBe(listed.length);
    expect(breaks()).toBeGreaterThanOrEqual(rounds / 3);
  }
  console.log(`${listed.length} checkpoints over ${rounds} ends of the daemon, told once to each of ${WATCHERS} followers`);
});
