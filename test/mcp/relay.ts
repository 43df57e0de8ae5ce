import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { atTeardown } from "../helpers/teardown.ts";
import { tempDir } from "../helpers/temp.ts";

/** A wire between the bridge and the daemon that can be watched, held and cut. */
export interface Relay {
  /** `unix:PATH` for `--endpoint`. */
  readonly endpoint: string;
  /** Everything the bridge sent, as text. */
  sent(): string;
  /** Resolves when the bridge has sent `count` requests that hold `text`. */
  arrived(text: string, count?: number): Promise<void>;
  /** From now on nothing of the bridge's reaches the daemon. */
  hold(): void;
  /** What was held goes on, in its order. */
  release(): void;
  /** From now on a connection is cut in place of the answer it brings. */
  cutAnswers(): void;
  /** Answers pass again. */
  passAnswers(): void;
  /** Connections the bridge holds open. */
  open(): number;
  /** Resolves when the bridge has closed a connection by itself (that is how it cancels). */
  closedByBridge(): Promise<void>;
}

/** Starts a relay to a daemon's socket. */
export async function startRelay(socketPath: string): Promise<Relay> {
  const path = join(tempDir("relay"), "r.sock");
  let sent = "";
  let held: (() => void)[] | undefined;
  let cutting = false;
  const open = new Set<Socket>();
  const checks = new Set<() => void>();
  let closed = 0;
  const server = createServer({ allowHalfOpen: false }, (bridge) => {
    open.add(bridge);
    const daemon = connect(socketPath);
    let daemonGone = false;
    const forward = (step: () => void): void => {
      if (held === undefined) step();
      else held.push(step);
    };
    bridge.on("data", (chunk: Buffer) => {
      sent += chunk.toString("utf8");
      for (const check of checks) check();
      forward(() => daemon.write(chunk));
    });
    bridge.on("close", () => {
      open.delete(bridge);
      if (!daemonGone) closed += 1;
      for (const check of checks) check();
      daemon.destroy();
    });
    bridge.on("error", () => bridge.destroy());
    daemon.on("data", (chunk: Buffer) => {
      if (!cutting) bridge.write(chunk);
      else {
        daemonGone = true;
        bridge.destroy();
      }
    });
    daemon.on("close", () => {
      daemonGone = true;
      bridge.destroy();
    });
    daemon.on("error", () => daemon.destroy());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  atTeardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const when = (met: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!met()) return;
        checks.delete(check);
        resolve();
      };
      checks.add(check);
      check();
    });
  return {
    endpoint: `unix:${path}`,
    sent: () => sent,
    arrived: (text, count = 1) => when(() => sent.split(text).length > count),
    hold: () => {
      held ??= [];
    },
    release: () => {
      const steps = held ?? [];
      held = undefined;
      for (const step of steps) step();
    },
    cutAnswers: () => {
      cutting = true;
    },
    passAnswers: () => {
      cutting = false;
    },
    open: () => open.size,
    closedByBridge: () => {
      const before = closed;
      return when(() => closed > before);
    },
  };
}
