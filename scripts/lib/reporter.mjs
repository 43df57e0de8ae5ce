import { appendFileSync } from "node:fs";

/** Vitest reporter: appends each result to GIN_TEST_RESULTS as a JSON line at once, so that a killed run still has its counts. */
export default class ResultLines {
  #write(line) {
    appendFileSync(process.env.GIN_TEST_RESULTS, `${JSON.stringify(line)}\n`);
  }

  onTestCaseResult(testCase) {
    const { state, note } = testCase.result();
    this.#write({ kind: "test", state, name: `${testCase.module.relativeModuleId} > ${testCase.fullName}`, note: note ?? "" });
  }

  onTestSuiteResult(suite) {
    this.#errors(suite.errors(), `${suite.module.relativeModuleId} > ${suite.fullName}`);
  }

  onTestModuleEnd(module) {
    this.#errors(module.errors(), module.relativeModuleId);
  }

  onTestRunEnd(_modules, unhandled) {
    this.#errors(unhandled, "outside any test");
  }

  onUserConsoleLog({ content }) {
    for (const line of content.split("\n")) {
      if (line.startsWith("PROOF ")) this.#write({ kind: "proof", ...JSON.parse(line.slice("PROOF ".length)) });
    }
  }

  /** A hook or an import that failed fails tests that never ran: one failure each. */
  #errors(errors, name) {
    for (const error of errors) this.#write({ kind: "test", state: "failed", name, note: error.message });
  }
}
