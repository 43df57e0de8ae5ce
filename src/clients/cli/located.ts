import type { Context } from "./command.ts";

/** `--host` and `--data` as locateHost takes them. */
export function located(context: Context): { host?: string; data?: string } {
  const { host, data } = context.options();
  return { ...(host !== undefined && { host }), ...(data !== undefined && { data }) };
}
