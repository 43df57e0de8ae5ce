import { GinError } from "../../../src/daemon/base/index.ts";
import type { Lsp } from "../../../src/daemon/lsp/index.ts";
import type { ServerSpec } from "../../../src/daemon/lsp/table/types.ts";
import { tempDir } from "../temp.ts";
import { DiskWorkspace } from "./disk-workspace.ts";
import { openRoom, placesOf, question } from "./room.ts";

/** A language whose files are changed all the time. */
export interface Restless {
  readonly row: ServerSpec;
  readonly extension: string;
  /** A file that says what the project is, and what it holds. */
  readonly config: readonly [string, string];
  /** The file a.EXTENSION, which declares `alpha`. */
  readonly declaration: string;
  /** A file with as many empty lines first that uses it, or does not; `change` is in it, so that no two are the same. */
  readonly text: (empty: number, uses: boolean, change: number) => string;
  /** Longest pause between two changes at first, in milliseconds: where the server does not keep up, it grows. */
  readonly pauseMs: number;
}

/** What a refusal makes of the pause, and the longest there is. */
const SLOWER = 1.2;
const LONGEST_PAUSE_MS = 2_000;

/** What came of the questions. */
export interface Told {
  readonly whole: number;
  readonly partial: number;
  readonly refused: number;
  /** Answers that were not what the files of their generation hold. */
  readonly wrong: readonly { readonly generation: number; readonly told: readonly string[]; readonly held: readonly string[] }[];
}

/** Asks for references, three at a time, while uses move from file to file, two files at once. Prints its seed. */
export async function askRestless(restless: Restless, rounds: number): Promise<Told> {
  const { row, extension, config, declaration, text, pauseMs } = restless;
  let seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const names = Array.from({ length: 6 }, (_, index) => `f${index}.${extension}`);
  const main = `a.${extension}`;
  const files = new Map([[main, declaration], ...names.map((name) => [name, text(0, false, 0)] as const)]);
  const workspace = new DiskWorkspace(tempDir("restless"), { [config[0]]: config[1], ...Object.fromEntries(files) });
  const states = new Map<number, ReadonlyMap<string, string>>();
  const keep = () => states.set(workspace.generation, new Map(files));
  keep();
  workspace.onChange(keep);
  const { lsp } = openRoom([row]);
  const ask = () => lsp.ask(question(workspace, "references", main, { symbol: "alpha" }));
  await ask();

  let going = true;
  let pause = pauseMs;
  const changing = (async () => {
    for (let change = 1; going; change++) {
      for (const uses of [false, true]) {
        const name = names[random(names.length)] ?? "";
        const content = text(random(4), uses, change);
        files.set(name, content);
        workspace.write(name, content);
      }
      await new Promise((resolve) => setTimeout(resolve, random(pause)));
    }
  })();
  const told = { whole: 0, partial: 0, refused: 0, wrong: [] as Told["wrong"][number][] };
  const look = (answer: Awaited<ReturnType<Lsp["ask"]>>): void => {
    told[answer.partial ? "partial" : "whole"] += 1;
    const held = usesIn(states.get(answer.generation) ?? new Map());
    const places = placesOf(answer);
    if (!answer.partial && JSON.stringify(places) !== JSON.stringify(held)) {
      told.wrong.push({ generation: answer.generation, told: places, held });
    }
  };
  const asking = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      try {
        look(await ask());
      } catch (thrown) {
        if (!(thrown instanceof GinError) || thrown.facts["state"] !== "changing") throw thrown;
        told.refused += 1;
        pause = Math.min(pause * SLOWER, LONGEST_PAUSE_MS);
      }
    }
  };
  await Promise.all([asking(), asking(), asking()]).finally(() => {
    going = false;
  });
  await changing;
  // At rest all is known.
  const last = await ask();
  look(last);
  if (last.partial || last.generation !== workspace.generation) throw new Error("not all is known at rest");
  console.log(JSON.stringify({ ...told, wrong: told.wrong.length }));
  return told;
}

function usesIn(files: ReadonlyMap<string, string>): readonly string[] {
  return [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, text]) =>
      text.split("\n").flatMap((line, index) => {
        const at = line.indexOf("alpha");
        return at < 0 ? [] : [`${path}:${index + 1}:${at + 1}-${index + 1}:${at + 6}`];
      }),
    );
}
