import { run } from "../../../src/clients/cli/run.ts";

/** What a command line left. */
export interface Driven {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How it is run. */
export interface DriveOptions {
  /** Standard output and error are terminals. */
  readonly terminal?: boolean;
  readonly input?: string | Uint8Array;
  readonly env?: { readonly [name: string]: string };
}

/** Runs a command line in this process. */
export async function drive(argv: readonly string[], options: DriveOptions = {}): Promise<Driven> {
  const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const sink = (chunks: Buffer[]) => ({
    write: (data: string | Uint8Array) => chunks.push(Buffer.from(data as string)),
    isTTY: options.terminal === true,
  });
  const status = await run(argv, {
    stdout: sink(written.stdout),
    stderr: sink(written.stderr),
    stdin: (async function* () {
      yield Buffer.from((options.input ?? "") as string);
    })(),
    env: options.env ?? {},
  });
  return {
    status,
    stdout: Buffer.concat(written.stdout).toString("utf8"),
    stderr: Buffer.concat(written.stderr).toString("utf8"),
  };
}
