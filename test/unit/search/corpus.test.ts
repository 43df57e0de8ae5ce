import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Corpus } from "../../../src/daemon/search/corpus.ts";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A store of texts that counts how often it is asked. */
function texts(...all: string[]) {
  const kept = new Map(all.map((text) => [hashOf(text), Buffer.from(text)]));
  const asked: string[] = [];
  return {
    asked,
    kept,
    object: (hash: string) => {
      const bytes = kept.get(hash);
      asked.push(bytes?.toString() ?? "nothing");
      return bytes;
    },
  };
}

test("a content is read once while there is room, and said to be binary or not kept", () => {
  const store = texts("one", "bin\0");
  const corpus = new Corpus(store, 10_000);
  corpus.begin();
  for (let run = 0; run < 3; run++) {
    expect(corpus.text(hashOf("one"))).toEqual({ text: "one", ascii: true });
    expect(corpus.text(hashOf("bin\0"))).toBe("binary");
  }
  expect(store.asked).toEqual(["one", "bin\0"]);
  expect(corpus.text(hashOf("later"))).toBe("not_kept");
  store.kept.set(hashOf("later"), Buffer.from("later"));
  expect(corpus.text(hashOf("later"))).toEqual({ text: "later", ascii: true });
});

test("without room the first ones stay and the rest is read anew; what later searches do not use goes", () => {
  const store = texts("a", "b", "c", "d");
  const corpus = new Corpus(store, 2 * 257);
  const search = (...all: string[]) => {
    store.asked.length = 0;
    corpus.begin();
    for (const text of all) expect(corpus.text(hashOf(text))).toEqual({ text, ascii: true });
    return store.asked.join("");
  };
  expect(search("a", "b", "c")).toBe("abc");
  expect(search("a", "b", "c")).toBe("c");
  expect(search("c", "d")).toBe("cd");
  expect(search("c", "d")).toBe("cd");
  expect(search("c", "d")).toBe("");
});
