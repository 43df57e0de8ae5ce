/** Programs of the system, as the rooms run them: by name and arguments, never by a shell. */
export interface Commands {
  /**
   * Runs a program to its end. Rejects with a GinError only when it cannot be started (UNSUPPORTED: it is not installed), took longer than
   * its limit (DEADLINE_EXCEEDED), said more than its cap (TOO_LARGE) or was cancelled (CANCELLED); its whole process group is ended then.
   */
  run(command: CommandSpec): Promise<CommandResult>;
  /** Starts a program that is talked to. It is ended with `close`. Throws nothing: one that cannot be started says so in `ended`. */
  open(command: CommandSpec): OpenCommand;
}

/** What to run. */
export interface CommandSpec {
  readonly file: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** The whole environment: nothing of the daemon's own is added, so PATH must be in it. */
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds until it is ended; default 30,000. Not for `open`. */
  readonly timeoutMs?: number;
  /** Most bytes of output that are kept, and allowed; default 64 MiB. Not for `open`. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
  /** What it reads on its standard input; default nothing. Not for `open`. */
  readonly input?: Uint8Array;
  /**
   * Only for `open`, default false: the kernel ends the program (not what it started itself) when this process ends, SIGKILL included. Where the
   * system cannot (anything but Linux with util-linux' setpriv), its standard input's end is all it is told.
   */
  readonly endsWithUs?: boolean;
}

/** How a program ended. */
export interface CommandResult {
  /** Exit status; 128 + the signal's number when a signal ended it. */
  readonly status: number;
  readonly stdout: Buffer;
  /** At most 64 KiB. For logs and for telling causes apart, never for messages: it holds absolute paths. */
  readonly stderr: string;
}

/** A program that is talked to. */
export interface OpenCommand {
  /** Its process id, which is its group's too; undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Writes to its standard input. */
  write(bytes: Uint8Array): void;
  /** As write; resolves with true when the system has taken it all, with false when the program was gone before. Never rejects. */
  send(bytes: Uint8Array): Promise<boolean>;
  /** What it says, in pieces; set once, before anything is written. */
  onOutput(listener: (bytes: Buffer) => void): void;
  /** What it says on its standard error, in pieces as they come. */
  onErrors(listener: (bytes: Buffer) => void): void;
  /** Leaves what it says where it is, so that it has to wait; and takes it again. */
  pause(): void;
  resume(): void;
  /** Ends its standard input. */
  end(): void;
  /** Asks its whole process group to end (SIGTERM). */
  terminate(): void;
  /**
   * Resolves when it is gone, for whatever reason, and what it left of its process group is ended; never rejects. `reason` is the beginning of what
   * it said on its standard error, or why it could not be started.
   */
  readonly ended: Promise<{ readonly status: number; readonly reason: string }>;
  /** Ends it and its process group at once (SIGKILL); resolves when it is gone. */
  close(): Promise<void>;
}
