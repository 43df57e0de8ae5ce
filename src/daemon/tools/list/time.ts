import { GinError } from "../../base/index.ts";

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/;

/** A time in RFC 3339 as nanoseconds of the epoch. Throws INVALID_REQUEST naming the argument. */
export function parseTime(text: string, argument: string): bigint {
  const match = RFC_3339.exec(text);
  const [, date = "", time = "", fraction = "", zone = ""] = match ?? [];
  const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (match === null || Number.isNaN(ms)) {
    const field = `args/${argument}`;
    throw new GinError("INVALID_REQUEST", `${field}: must be a time as 2026-01-31T12:00:00.5Z`, undefined, { facts: { field } });
  }
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Seconds of the epoch as nanoseconds. */
export function fromSeconds(seconds: number): bigint {
  const whole = Math.floor(seconds);
  return BigInt(whole) * 1_000_000_000n + BigInt(Math.round((seconds - whole) * 1e9));
}
