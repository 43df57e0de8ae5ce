const UNITS: { readonly [unit: string]: number } = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const DAY_MS = 86_400_000;

const LONGEST_MS = 36_500 * DAY_MS;

/** Longest text that is looked at. */
const CHARACTERS = 64;

/**
 * Milliseconds of a duration as Go writes them ("1h30m", "1.5h", "300ms"), or of whole days or weeks ("7d", "2w"), rounded up. Undefined for
 * what is none, is not above 0, or is over 100 years.
 */
export function durationMs(text: string): number | undefined {
  if (text.length > CHARACTERS) return undefined;
  const long = /^(\d+)([dw])$/.exec(text);
  const ms = long === null ? goMs(text) : Number(long[1]) * DAY_MS * (long[2] === "w" ? 7 : 1);
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS) return undefined;
  return Math.ceil(ms);
}

function goMs(text: string): number | undefined {
  const parts = /^\+?((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text);
  if (parts === null) return undefined;
  let ms = 0;
  for (const [, count, unit] of (parts[1] ?? "").matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    ms += Number(count) * (UNITS[unit ?? ""] ?? 0);
  }
  return ms;
}
