/** Counts of a run by suite, what failed, and what was skipped and why. */
export class Tally {
  #suites = new Map();
  #failures = [];
  #skips = [];

  /** `state`: passed, failed or skipped. */
  add(suite, state, name, note) {
    const counts = this.#suites.get(suite) ?? { passed: 0, failed: 0, skipped: 0 };
    this.#suites.set(suite, counts);
    counts[state] += 1;
    if (state === "failed") this.#failures.push(`${suite}: ${name}${note === "" ? "" : `: ${note}`}`);
    if (state === "skipped") this.#skips.push(`${suite}: ${name}: ${note === "" ? "NO REASON GIVEN" : note}`);
  }

  /** What runVitest gave for a suite. Running out of time, or an unhappy vitest without a failed test, is a failure. */
  addRun(suite, seed, { lines, timedOut, leftovers, ok }) {
    const before = this.failed;
    for (const line of lines) {
      if (line.kind !== "test" || line.state === "pending") continue;
      this.add(suite.name, line.state, line.name, line.note);
      // A skip without a reason would hide a tier that never runs.
      if (line.state === "skipped" && line.note === "") this.add(suite.name, "failed", line.name, "skipped without a reason");
    }
    for (const command of leftovers) this.add(suite.name, "failed", "process left behind", command);
    if (timedOut) this.add(suite.name, "failed", "budget", `stopped after ${suite.seconds} s with the counts above`);
    else if (!ok && this.failed === before) this.add(suite.name, "failed", "vitest", "ended with an error and no failed test");
    if (this.failed > before) this.#failures.push(`${suite.name}: repeat with GIN_TEST_SEED=${seed}`);
  }

  get failed() {
    return this.#sum("failed");
  }

  #sum(state) {
    let total = 0;
    for (const counts of this.#suites.values()) total += counts[state];
    return total;
  }

  /** Per suite, then failures, then skips, then the closing line that tools read. */
  print(seconds) {
    console.log(seconds === undefined ? "" : `\nin ${seconds} s:`);
    for (const [name, { passed, failed, skipped }] of this.#suites) {
      console.log(`${name.padEnd(8)} ${passed} passed, ${failed} failed, ${skipped} skipped`);
    }
    for (const line of this.#skips) console.log(`skipped  ${line}`);
    for (const line of this.#failures) console.log(`FAILED   ${line}`);
    const skipped = this.#sum("skipped");
    console.log(`gin: ${this.#sum("passed")} passed, ${this.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  }
}
