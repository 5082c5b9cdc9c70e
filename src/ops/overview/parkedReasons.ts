/** How many of the reasons a person is shown. */
const mostReasons = 8;

/**
 * Parked invoices by the first words of their reasons, most first: what follows a colon differs from one to the next. What
 * is beyond the most frequent reasons is one more line. Pure.
 */
export function parkedReasons(byReason: ReadonlyMap<string, number>): { reason: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const [text, count] of byReason) {
    const reason = text.split(': ')[0] ?? text;
    counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  const sorted = [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .toSorted((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  if (sorted.length <= mostReasons) return sorted;
  const others = sorted.slice(mostReasons).reduce((sum, { count }) => sum + count, 0);
  return [...sorted.slice(0, mostReasons), { reason: 'other reasons', count: others }];
}
