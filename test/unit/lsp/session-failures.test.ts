import { expect, test } from "vitest";
import { Failures } from "../../../src/daemon/lsp/session/tail.ts";

test("lines of standard error that say of a failure are counted once, however they come in pieces", () => {
  const failures = new Failures(/Failed to load hook pylsp_lint/);
  const counts = ["WARNING - Failed to load ", "hook pylsp_lint: ", "why\nTrace", "back\nFailed to load hook pylsp_hover\n"].map(
    (piece) => {
      failures.add(Buffer.from(piece));
      return failures.count;
    },
  );
  // Known as soon as the words are there: the push may come before the line's end.
  expect(counts).toEqual([0, 1, 1, 1]);
  failures.add(Buffer.from(`${"x".repeat(10_000)}`));
  failures.add(Buffer.from("\nFailed to load hook pylsp_lint: a\nFailed to load hook pylsp_lint: b"));
  expect(failures.count).toBe(3);
});

test("without a pattern nothing is", () => {
  const failures = new Failures(undefined);
  failures.add(Buffer.from("Failed to load hook pylsp_lint\n"));
  expect(failures.count).toBe(0);
});
