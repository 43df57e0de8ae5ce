import { afterAll, describe, expect, test } from "vitest";
import { diffHunks } from "../../../src/daemon/history/hunks.ts";
import { createDiffer, diffLines } from "../../../src/daemon/history/index.ts";
import { chance } from "../../helpers/random.ts";

const differ = createDiffer();
afterAll(() => differ.close());

const random = chance("differ");
const text = (lines: number) => Buffer.from(Array.from({ length: lines }, () => `${random.int(lines)} some code\n`).join(""));

describe("a differ", () => {
  test.each([10, 500, 30_000])("of %i lines gives what the core gives, here or in its thread", async (lines) => {
    const [a, b] = [text(lines), text(lines)];
    expect(await differ.edits(a, b)).toEqual(diffLines(a, b));
    const wanted = diffHunks(a, b, 2);
    const got = await differ.hunks(a, b, 2);
    expect([got.added, got.removed, Buffer.compare(got.body, wanted.body)]).toEqual([wanted.added, wanted.removed, 0]);
    const counts = await differ.hunks(a, b, undefined);
    expect([counts.added, counts.removed, counts.body.length]).toEqual([wanted.added, wanted.removed, 0]);
    // The caller keeps its bytes: what crosses to the thread are copies.
    expect([a.length > 0, b.length > 0]).toEqual([true, true]);
  });

  test("runs several at once, each with its own answer", async () => {
    const texts = Array.from({ length: 6 }, () => text(3_000));
    const first = texts[0] ?? Buffer.alloc(0);
    const found = await Promise.all(texts.map((one) => differ.edits(first, one)));
    expect(found).toEqual(texts.map((one) => diffLines(first, one)));
  });

  test("stops within 250 ms when it is cancelled, and goes on with the next in a new thread", async () => {
    const [a, b] = [text(400_000), text(400_000)];
    const stop = new AbortController();
    const running = differ.edits(a, b, stop.signal);
    const small = [text(5_000), text(5_000)] as const;
    const next = differ.edits(...small);
    await new Promise((resolve) => setImmediate(resolve));
    const stopped = performance.now();
    stop.abort();
    await expect(running).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(performance.now() - stopped).toBeLessThan(250);
    expect(await next).toEqual(diffLines(...small));
    await expect(differ.edits(a, b, AbortSignal.abort())).rejects.toMatchObject({ reason: "CANCELLED" });
  });

  test("refuses texts above 64 MiB together", async () => {
    const half = Buffer.alloc(32 * 1024 * 1024 + 1, "x");
    await expect(differ.edits(half, half)).rejects.toMatchObject({ reason: "TOO_LARGE" });
    await expect(differ.hunks(half, half, 3)).rejects.toMatchObject({ reason: "TOO_LARGE" });
  });

  test("that is closed answers CANCELLED", async () => {
    const closed = createDiffer();
    const open = closed.edits(text(30_000), text(30_000));
    const failing = expect(open).rejects.toMatchObject({ reason: "CANCELLED" });
    await closed.close();
    await failing;
    await expect(closed.edits(Buffer.from("a"), Buffer.from("b"))).rejects.toMatchObject({ reason: "CANCELLED" });
  });
});
