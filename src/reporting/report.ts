import { type ReportKind, reportKinds } from '../invoice/counters/counters.ts';
import type { DayCount } from '../invoice/store/invoiceStore.ts';

/** Count, and sum of the amounts in minor units of the currency. */
export interface Total {
  count: number;
  amountMinor: number;
}

export type Totals = Record<ReportKind, Total>;

export interface DayTotals extends Totals {
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  currency: string;
}

export interface Report {
  /** By day, then by currency; a day on which nothing happened is absent. */
  days: DayTotals[];
  /** Of the whole time, by currency. */
  totals: Omit<DayTotals, 'day'>[];
}

/** Adds up the counts of days. Pure. */
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
  const found = all.get(key) ?? noTotals();
  all.set(key, found);
  return found;
}

function noTotals(): Totals {
  const none = (): Total => ({ count: 0, amountMinor: 0 });
  return { paid: none(), declined: none(), refunded: none(), disputed: none(), disputeLost: none() };
}

function sorted(all: ReadonlyMap<string, Totals>): [string, Totals][] {
  return [...all].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The columns of the report as CSV. */
export const reportColumns: readonly string[] = [
  'day',
  'currency',
  ...reportKinds.flatMap((kind) => [`${kind}Count`, `${kind}Minor`]),
  'feesIncluded',
];

/** The same of one row. */
export function reportRow({ day, currency, ...totals }: DayTotals): (string | number)[] {
  const cells = reportKinds.flatMap((kind) => [totals[kind].count, totals[kind].amountMinor]);
  return [day, currency, ...cells, 'false'];
}
