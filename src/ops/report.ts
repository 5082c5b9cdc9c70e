import type { z } from 'zod';
import { reportKinds } from '../invoice/counters/counters.ts';
import { formatAmount } from '../invoice/money.ts';
import type { DayCount } from '../invoice/store/invoiceStore.ts';
import type { ReportDay, reportAnswer } from './answers/reportAnswers.ts';

type Totals = Omit<ReportDay, 'day' | 'currency'>;

/** Days by day, then by currency, and the sums of all days by currency. A day on which nothing happened is absent. Pure. */
export function addUp(counts: readonly DayCount[]): Pick<z.infer<typeof reportAnswer>, 'days' | 'totals'> {
  const days = totalsBy(counts, ({ day, currency }) => `${day} ${currency}`);
  const currencies = totalsBy(counts, ({ currency }) => currency);
  return {
    days: days.map(([key, totals]) => ({ day: key.slice(0, 10), currency: key.slice(11), ...totals })),
    totals: currencies.map(([currency, totals]) => ({ currency, ...totals })),
  };
}

function totalsBy(counts: readonly DayCount[], keyOf: (one: DayCount) => string): [string, Totals][] {
  const groups = [...Map.groupBy(counts, keyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return groups.map(([key, group]) => {
    const none = reportKinds.map((kind) => [kind, { count: 0, amountMinor: 0 }]);
    const totals = Object.fromEntries(none) as Totals;
    for (const { kind, amountMinor, count } of group) {
      totals[kind].count += count;
      totals[kind].amountMinor += amountMinor;
    }
    return [key, totals];
  });
}

export const reportColumns: readonly string[] = [
  'day',
  'currency',
  ...reportKinds.flatMap((kind) => [`${kind}Count`, `${kind}Minor`]),
  'feesIncluded',
  ...reportKinds,
];

export function reportRow({ day, currency, ...totals }: ReportDay): (string | number)[] {
  const cells = reportKinds.flatMap((kind) => [totals[kind].count, totals[kind].amountMinor]);
  // A sum beyond 2⁵³ is about right, and no amount that a bank would know.
  const amounts = reportKinds.map((kind) => {
    const { amountMinor } = totals[kind];
    return Number.isSafeInteger(amountMinor) ? formatAmount(amountMinor, currency) : '';
  });
  return [day, currency, ...cells, 'false', ...amounts];
}
