import type { z } from 'zod';
import { reportKinds } from '../invoice/counters/counters.ts';
import { formatAmount } from '../invoice/money.ts';
import type { DayCount } from '../invoice/store/invoiceStore.ts';
import type { ReportDay, reportAnswer } from './answers/reportAnswers.ts';

type Totals = Omit<ReportDay, 'day' | 'currency'>;

/** Days by day, then by currency, and the sums of all days by currency. A day on which nothing happened is absent. */
type Report = Pick<z.infer<typeof reportAnswer>, 'days' | 'totals'>;

/** Pure. */
export function addUp(counts: readonly DayCount[]): Report {
  const days = new Map<string, Totals>();
  const currencies = new Map<string, Totals>();
  for (const { kind, day, currency, amountMinor, count } of counts) {
    for (const totals of [under(days, `${day} ${currency}`), under(currencies, currency)]) {
      totals[kind].count += count;
      totals[kind].amountMinor += amountMinor;
    }
  }
  return {
    days: sorted(days).map(([key, totals]) => ({
      day: key.slice(0, 10),
      currency: key.slice(11),
      ...totals,
    })),
    totals: sorted(currencies).map(([currency, totals]) => ({ currency, ...totals })),
  };
}

function under(all: Map<string, Totals>, key: string): Totals {
  const none = () => ({ count: 0, amountMinor: 0 });
  const empty = { paid: none(), declined: none(), refunded: none(), disputed: none(), disputeLost: none() };
  const found = all.get(key) ?? empty;
  all.set(key, found);
  return found;
}

function sorted(all: ReadonlyMap<string, Totals>): [string, Totals][] {
  return [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
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
