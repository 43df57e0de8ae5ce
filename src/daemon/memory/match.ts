import type { MemoryRow } from "../store/index.ts";

/** Whether an entry's key or value holds every word of a query, whatever the case; a query without a word finds all. */
export function matcher(query: string): (row: Pick<MemoryRow, "key" | "value">) => boolean {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return ({ key, value }) => {
    const [inKey, inValue] = [key.toLowerCase(), value.toLowerCase()];
    return words.every((word) => inKey.includes(word) || inValue.includes(word));
  };
}
