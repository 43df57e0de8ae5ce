import { expect, test } from "vitest";
import { GinError, systemRandom } from "../../../src/daemon/base/index.ts";
import { createLeases, type Lease, type Leases } from "../../../src/daemon/lease/index.ts";
import { covers, overlap } from "../../../src/daemon/lease/scope.ts";
import type { FenceCheck } from "../../../src/daemon/store/index.ts";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { fenceOf } from "./setup.ts";
import { type Event, SlowStore } from "./slow-store.ts";
import { type VirtualClock, virtualClock } from "./virtual-clock.ts";

const PATHS = ["a", "a/x", "a/x/1", "a/y", "b"];
const SCOPES = [["a"], ["a/x"], ["b"], ["a/y", "b"], []];

/** Refusals are outcomes here; anything else is a fault. */
function refused(thrown: unknown): undefined {
  if (!(thrown instanceof GinError)) throw thrown;
  return undefined;
}

/** One race: a few agents acquire, save, release and wait while leases run out, the store lags, fails, or the daemon dies. */
class Race {
  readonly slow: SlowStore;
  readonly violations: string[] = [];
  readonly epochs: number[] = [];
  saved = 0;
  judged = 0;
  readonly #random: Chance;
  readonly #clock: VirtualClock = virtualClock();
  #leases: Leases;
  /** Every lease an agent was ever given, over or not: fences live on in agents' memories. */
  readonly #fences: Lease[] = [];
  /** Saves that were judged and are still being staged. */
  readonly #staged: { readonly check: FenceCheck; readonly path: string }[] = [];
  /** What the model knows of each lease: until when it can be held at most, and whether somebody ended it. */
  readonly #known = new Map<number, { until: number; ended: boolean }>();

  constructor(random: Chance, checksFence: boolean) {
    this.#random = random;
    this.slow = new SlowStore(checksFence);
    this.#leases = this.#open();
  }

  async run(steps: number): Promise<void> {
    for (let n = 0; n < steps; n += 1) {
      this.#act();
      await this.#turn();
    }
    while (this.#staged.length > 0) this.#commit();
    while (this.slow.pending > 0) {
      this.slow.step();
      await this.#turn();
    }
    this.#leases.close();
    this.violations.push(...oldSaves(this.slow.log));
    if (new Set(this.epochs).size !== this.epochs.length) this.violations.push("an epoch was granted twice");
  }

  #act(): void {
    const random = this.#random;
    const kind = random.int(24);
    if (kind < 5) this.#acquire();
    else if (kind < 10) this.#judge();
    else if (kind < 15) this.slow.step();
    else if (kind >= 20) this.#commit();
    else if (kind < 17) this.#clock.advance(random.pick([1, 2_500, 4_999, 5_000]));
    else if (kind === 17) this.#end();
    else if (kind === 18 && random.maybe(0.2)) this.slow.failNext();
    else if (kind === 19 && random.maybe(0.2)) this.#die();
  }

  #acquire(): void {
    const input = { principal: `agent ${this.#random.int(3)}`, paths: this.#random.pick(SCOPES), ttlMs: 5_000, intent: "" };
    this.#leases.acquire({ ...input, workspace: 1, waitMs: this.#random.pick([0, 10_000]) }).then((lease) => {
      this.epochs.push(lease.leaseEpoch);
      this.#fences.push(lease);
      this.#known.set(lease.leaseEpoch, { until: this.#clock.monotonicMs() + 5_000, ended: false });
    }, refused);
  }

  #judge(): void {
    const lease = this.#fences.at(-1 - this.#random.int(Math.min(3, this.#fences.length || 1)));
    if (lease === undefined) return;
    const path = this.#random.pick(PATHS);
    try {
      const check = this.#leases.judge(1, "somebody", [path], fenceOf(lease), true);
      if (check === undefined) throw new Error("a fence was given");
      this.judged += 1;
      this.#mustBeHeld(lease, path);
      this.#staged.push({ check, path });
    } catch (thrown) {
      refused(thrown);
    }
  }

  #commit(): void {
    const save = this.#staged.splice(this.#random.int(this.#staged.length || 1), 1)[0];
    if (save === undefined) return;
    this.slow.commit(save.check, save.path).then((committed) => {
      if (committed) this.saved += 1;
    }, refused);
  }

  /** The judgement let a write pass: by the model too, its lease must be held and cover the path. */
  #mustBeHeld(lease: Lease, path: string): void {
    const known = this.#known.get(lease.leaseEpoch);
    const now = this.#clock.monotonicMs();
    if (known === undefined || known.ended || now >= known.until)
      this.violations.push(`passed after the end of ${lease.leaseEpoch}`);
    if (!covers(lease.paths, path)) this.violations.push(`passed outside the scope of ${lease.leaseEpoch}`);
    const later = this.slow.log.some(
      (event) => event.kind === "grant" && event.epoch > lease.leaseEpoch && overlap(event.paths, lease.paths),
    );
    if (later) this.violations.push(`passed after ${lease.leaseEpoch} was superseded`);
    if (known !== undefined) known.until = now + 5_000;
  }

  #end(): void {
    const lease = this.#fences.at(-1);
    if (lease === undefined) return;
    const known = this.#known.get(lease.leaseEpoch);
    if (this.#random.maybe(0.7)) {
      if (known !== undefined) known.ended = true;
      this.#leases.release(1, lease.id, fenceOf(lease)).catch(refused);
    } else {
      this.#leases.breakLease(1, lease.id).then(() => {
        if (known !== undefined) known.ended = true;
      }, refused);
    }
  }

  /** What the store had not done is lost; what was held, also what was released without it hearing of it, is held anew. */
  #die(): void {
    this.slow.crash();
    this.#staged.length = 0;
    this.#leases.close();
    this.#leases = this.#open();
    for (const lease of this.#leases.list(1))
      this.#known.set(lease.leaseEpoch, { until: this.#clock.monotonicMs() + 5_000, ended: false });
  }

  #open(): Leases {
    const leases = createLeases({ store: this.slow.store, clock: this.#clock, random: systemRandom });
    leases.load(1);
    return leases;
  }

  /** Lets everything run that waits for nothing but its turn. */
  async #turn(): Promise<void> {
    for (let n = 0; n < 6; n += 1) await Promise.resolve();
  }
}

/** Saves that landed after a later overlapping grant. */
function oldSaves(log: readonly Event[]): string[] {
  const grants: Event[] = [];
  const out: string[] = [];
  for (const event of log) {
    if (event.kind === "grant") grants.push(event);
    else if (grants.some((grant) => grant.kind === "grant" && grant.epoch > event.epoch && covers(grant.paths, event.path)))
      out.push(`${event.path} was saved under ${event.epoch} after a later grant`);
  }
  return out;
}

async function races(count: number, random: Chance, checksFence: boolean) {
  const sum = { violations: 0, saved: 0, judged: 0, first: "" };
  for (let n = 0; n < count; n += 1) {
    const race = new Race(random, checksFence);
    await race.run(50);
    sum.violations += race.violations.length;
    sum.saved += race.saved;
    sum.judged += race.judged;
    if (sum.first === "" && race.violations.length > 0) sum.first = `race ${n}: ${race.violations[0]}`;
  }
  return sum;
}

test("G9: no save lands under an old fence, whatever expires, is released, broken or granted while it is under way", async () => {
  const random = chance("lease races");
  const count = proofCount("G9", { test: 2_000, proof: 10_000 });
  const { violations, saved, judged, first } = await races(count, random, true);
  reportProof({ row: "G9", count, violations, seed: random.seed, judged, saved });
  expect(first).toBe("");
  expect(saved).toBeGreaterThan(count / 2);
  expect(judged).toBeGreaterThan(saved);
});

test("the same races find a store that trusts the judgement made before the commit", async () => {
  const { first } = await races(300, chance("lease races, mutant"), false);
  expect(first).toMatch(/after a later grant/);
});
