/** What was in the story's project before anybody came, by path. */
export const PROJECT: Readonly<Record<string, string>> = {
  "README.md": "# Shop\n\nPrices are cents everywhere; receipts show whole units.\n",
  "cart.js": [
    "// The cart of the shop.",
    "export function total(items) {",
    "  let sum = 0;",
    "  for (const item of items) {",
    "    sum += item.price;",
    "  }",
    "  return sum;",
    "}",
    "",
    "export function receipt(items) {",
    '  return "Total: " + total(items);',
    "}",
    "",
  ].join("\n"),
};

const BEFORE = PROJECT["cart.js"] ?? "";

/** cart.js as alice leaves it: two lines in place of one. */
export const BY_ALICE = BEFORE.replace(
  "    sum += item.price;\n",
  "    // An item may be there more than once.\n    sum += item.price * item.count;\n",
);

/** cart.js as bob would leave it, who knows nothing of alice's change. */
export const BY_BOB = BEFORE.replace('" + total(items)', '" + (total(items) / 100).toFixed(2)');

/** Both. */
export const MERGED = BY_ALICE.replace('" + total(items)', '" + (total(items) / 100).toFixed(2)');
