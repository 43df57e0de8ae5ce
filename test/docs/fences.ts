/** A shell block of a document. */
export interface Block {
  /** Line of its opening fence, from 1. */
  readonly line: number;
  readonly script: string;
  /** `run`: to its end; `serve`: in the background until the document's end; `no-test`: not run, with `reason`. */
  readonly kind: "run" | "serve" | "no-test";
  /** Text of the `<!-- no-test: … -->` comment on the line before the block; empty when there is none. */
  readonly reason: string;
  /** Text of the ```output block that follows, if one does. */
  readonly output: string | undefined;
}

interface Fence {
  readonly info: string;
  readonly line: number;
  readonly text: string;
  /** The nearest line before it that is not blank. */
  readonly above: string;
}

function fencesOf(markdown: string): Fence[] {
  const fences: Fence[] = [];
  const lines = markdown.split("\n");
  let above = "";
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const open = /^```(.*)$/.exec(line);
    if (open === null) {
      if (line.trim() !== "") above = line.trim();
      continue;
    }
    const close = lines.indexOf("```", at + 1);
    if (close < 0) throw new Error(`line ${at + 1}: the fence is never closed`);
    fences.push({ info: (open[1] ?? "").trim(), line: at + 1, text: lines.slice(at + 1, close).join("\n"), above });
    above = "```";
    at = close;
  }
  return fences;
}

const kinds = new Map<string, Block["kind"]>([
  ["sh", "run"],
  ["sh serve", "serve"],
  ["sh no-test", "no-test"],
]);

/** The shell blocks of a document in order. An unknown `sh` fence, or an output with no block before it, throws. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const fences = fencesOf(markdown);
  fences.forEach((fence, index) => {
    const kind = kinds.get(fence.info);
    const next = fences[index + 1];
    if (kind !== undefined) {
      const reason = /^<!-- no-test: (.+) -->$/.exec(fence.above)?.[1] ?? "";
      const output = next?.info === "output" ? next.text : undefined;
      blocks.push({ line: fence.line, script: fence.text, kind, reason, output });
    } else if (/^(sh|bash|shell|console)\b/.test(fence.info)) {
      throw new Error(`line ${fence.line}: write the fence as one of: ${[...kinds.keys()].join(", ")}`);
    } else if (fence.info === "output" && !kinds.has(fences[index - 1]?.info ?? "")) {
      throw new Error(`line ${fence.line}: this output has no command before it`);
    }
  });
  return blocks;
}
