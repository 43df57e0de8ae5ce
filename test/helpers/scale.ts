/** GIN_TEST_SCALE: 1 in `npm test`, larger in `npm run test:long`. */
const scale = Math.max(1, Number(process.env.GIN_TEST_SCALE ?? "1"));

/** A count of a property or stress test, grown with the scale. */
export const scaled = (count: number): number => Math.round(count * scale);

/** Whether this is `npm run test:long`: tiers that take minutes run only then. */
export const isLong = process.env.GIN_TEST_LONG === "1";
