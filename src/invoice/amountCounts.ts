/** Name of the count that holds a sum of amounts (minor units) of one currency. */
const prefix = 'amountMinor.';

/** The sums of some amounts as counts of a run: `{"amountMinor.EUR": 1250}`. Pure. */
export function amountCounts(
  amounts: readonly { amountMinor: number; currency: string }[],
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { amountMinor, currency } of amounts)
    counts[prefix + currency] = (counts[prefix + currency] ?? 0) + amountMinor;
  return counts;
}

/** Splits the counts of a run into the sums of amounts and all others. Pure. */
export function splitCounts(counts: Readonly<Record<string, number>>): {
  sums: { amountMinor: number; currency: string }[];
  others: [name: string, count: number][];
} {
  const all = Object.entries(counts);
  return {
    sums: all
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, amountMinor]) => ({ amountMinor, currency: name.slice(prefix.length) })),
    others: all.filter(([name]) => !name.startsWith(prefix)),
  };
}
