import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GinClient } from "../../src/clients/sdk/index.ts";
import { git } from "../helpers/lsp/projects.ts";
import { runCommand } from "../helpers/process.ts";

/** A workspace that is edited in many ways. */
export interface Edited {
  readonly root: string;
  /** Its id. */
  readonly workspace: string;
  readonly gin: GinClient;
  /** Another agent. */
  readonly other: GinClient;
  /** Branches of git that hold other contents of many files. */
  readonly branches: readonly string[];
}

/** How a file comes to hold a text. */
export type Way = (at: Edited, path: string, text: string, round: number) => Promise<void>;

const sha = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

/** The last use of git, by root. */
const turns = new Map<string, Promise<void>>();

/** Every way a file changes in a working day. `checkout` makes it a text of the branch's own. */
export const WAYS = {
  async save({ workspace, gin, root }, path, text) {
    await gin.save({ workspace, edits: [{ path, expect: sha(readFileSync(join(root, path))), text }] });
  },
  /** As editors do: written beside, put in place. */
  async rename({ root }, path, text) {
    const beside = join(root, `${path}.gin-swap`);
    writeFileSync(beside, text);
    renameSync(beside, join(root, path));
  },
  async sed({ root }, path, text) {
    const line = (lines: string, holding: string): string => lines.split("\n").find((one) => one.includes(holding)) ?? "";
    const put = (holding: string): string => `/${holding}/c\\\n${line(text, holding).replaceAll("\\", "\\\\")}`;
    const ran = await runCommand("sed", ["-i", "-e", put("ginmissing"), join(root, path)]);
    if (ran.code !== 0) throw new Error(`sed: ${ran.stderr}`);
  },
  async checkout({ root, branches }, path, _text, round) {
    // One at a time: git locks its index.
    const before = turns.get(root);
    const turn = (async () => {
      await before;
      await git(root, "checkout", "-q", branches[round % branches.length] ?? "", "--", path);
    })();
    turns.set(
      root,
      turn.catch(() => {}),
    );
    await turn;
  },
  async tool({ workspace, other, root }, path, text) {
    const called = await other.callTool({
      workspace,
      tool: "write_file",
      arguments: { path, content: text, if_checksum: sha(readFileSync(join(root, path))) },
    });
    if (!called.ok) throw new Error(`write_file: ${called.error}`);
  },
} as const satisfies Readonly<Record<string, Way>>;
export type WayName = keyof typeof WAYS;
