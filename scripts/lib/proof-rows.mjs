/** Rows of `npm run proof`: what each promises, and the cases it must run at least. */
export const PROOF_ROWS = [
  { row: "G1", count: 20_000, promise: "crash images: no acknowledged save lost, no half save, no stray file" },
  { row: "G2", count: 420, promise: "kill -9 at every fail point: the same, with real processes" },
  { row: "G5", count: 500_000, promise: "confined paths agree with openat2" },
  { row: "G6", count: 6, promise: "confinement under a race: no escape, while the naive control leaks" },
  { row: "G7", count: 12_800, promise: "64 clients: no lost update, and the checker finds its three seeded bugs" },
  { row: "G8", count: 10_000, promise: "requests resent after cuts: one generation a request" },
  { row: "G9", count: 2_000, promise: "leases expire in mid-flight: no save under an old fence" },
  { row: "G19", count: 1, promise: "fsync calls of a save: at most two, whatever its width" },
  {
    row: "U1",
    count: 2_000,
    promise: "undo of one agent among others: planned apart it commits and leaves their bytes, overlapping it conflicts",
  },
];
