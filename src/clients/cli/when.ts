import { brief, type Output } from "./output.ts";

/** Characters of an id that a person compares by: its kind and eight more. */
const SHORT_ID = 11;

/** An id as a person reads it: short on a terminal, whole for programs, which need it. */
export function shownId(out: Output, id: string): string {
  return out.terminal ? brief(id, SHORT_ID) : id;
}

/** A time as the daemon writes it: how long ago on a terminal, to the second otherwise. "" stays. */
export function shownTime(out: Output, iso: string, now: Date): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return iso;
  return out.terminal ? ago(now.getTime() - at, iso) : iso.replace(/\.\d+Z$/, "Z");
}

/** The time of day on this machine's clock, for a terminal. */
export function timeOfDay(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A clock that went back makes times of the future: those are now. */
function ago(ms: number, iso: string): string {
  const units: readonly (readonly [most: number, size: number, name: string])[] = [
    [60_000, 1_000, "s"],
    [3_600_000, 60_000, "m"],
    [86_400_000, 3_600_000, "h"],
    [30 * 86_400_000, 86_400_000, "d"],
  ];
  if (ms < 1_000) return "now";
  for (const [most, size, name] of units) if (ms < most) return `${Math.floor(ms / size)} ${name} ago`;
  return iso.slice(0, 10);
}
