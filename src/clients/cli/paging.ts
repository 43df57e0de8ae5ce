import { UsageError } from "../sdk/index.ts";
import { goingOn } from "./again.ts";
import { type Context, flag } from "./command.ts";

/** `--limit` as a count, or the default. Throws UsageError when it is none. */
export function pageLimit(context: Context, otherwise: number): number {
  const asked = flag(context, "limit");
  if (asked === undefined) return otherwise;
  if (!/^[1-9]\d{0,8}$/.test(asked)) throw new UsageError(`--limit takes a count, not "${asked}"`);
  return Number(asked);
}

/** Tells how to go on after a page, where there is more: beside the output, which may be piped. */
export function more({ err, argv }: Context, cursor: string): void {
  if (cursor !== "") err.line(`more: ${goingOn(argv, cursor)}`);
}
