/** Time, as the rooms see it. Tests hand in a virtual one. */
export interface Clock {
  /** Wall time in milliseconds since 1970: for records only, never for deciding. */
  wallMs(): number;
  /** Monotonic milliseconds (fractional): for every deadline and duration. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, callback: () => void): () => void;
}

/** Randomness, as the rooms see it. Tests hand in a seeded one. */
export interface Random {
  bytes(count: number): Uint8Array;
  /** A fresh id: `prefix` + "_" + 20 characters of 0-9a-v (100 bits). */
  id(prefix: IdPrefix): string;
}

/** Kinds of ids gin mints. */
export type IdPrefix = "ck" | "ls" | "an" | "ap" | "pv" | "dt" | "ws" | "rp" | "in" | "li" | "tk" | "rq" | "cn";

/**
 * Named points of the save path and recovery where tests stop the world.
 * `hit` is called at each; production hands in one that does nothing. A test's may throw, kill the process, or wait.
 */
export interface FailPoints {
  hit(point: FailPoint): void;
}

/** Every fail point, in the order a save passes them; `recover.*` are those of recovery, `gc.*` those of gc, `import.*` of the first look at the whole tree. */
export const FAIL_POINTS = [
  "save.admitted",
  "save.judged",
  "stage.created",
  "stage.written",
  "save.staged",
  "side.appended",
  "side.synced",
  "commit.begin",
  "commit.objects",
  "commit.rows",
  "commit.before",
  "commit.after",
  "save.committed",
  "apply.between",
  "apply.displaced",
  "save.applied",
  "mark.before",
  "mark.after",
  "save.answer",
  "import.begin",
  "import.read",
  "import.kept",
  "import.recorded",
  "import.walked",
  "import.base",
  "import.end",
  "durable.file",
  "durable.directory",
  "durable.mark",
  "recover.begin",
  "recover.swept",
  "recover.judged",
  "recover.staged",
  "recover.applied",
  "recover.external",
  "recover.mark",
  "recover.synced",
  "recover.end",
  "gc.decided",
  "gc.announced",
  "gc.objects",
  "gc.nodes",
  "gc.rows",
  "gc.touched",
  "gc.moved",
  "gc.emptied",
  "gc.unlinked",
  "gc.vacuumed",
  "gc.end",
] as const;

/** Name of a fail point. */
export type FailPoint = (typeof FAIL_POINTS)[number];

/** Fail points that do nothing. */
export const noFailPoints: FailPoints = { hit: () => {} };

/** Where rooms log; pino fits. Never content, tokens or absolute paths of other people's files. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
