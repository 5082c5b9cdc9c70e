import { bars } from './verdict.ts';

/** Outcome for many invoices that were due at once. */
export interface DueAtOnce {
  count: number;
  paid: number;
  chargedTwice: number;
  /** Invoices that were claimed more than once. */
  claimedAgain: number;
  /** Invoices that waited for another try. */
  retried: number;
  /** Share of the calls that were refused. */
  refused: number;
}

/** Names what the scenario misses, in words. Pure. */
export function missesOfDueAtOnce(figures: DueAtOnce): string[] {
  const { count, paid, chargedTwice, claimedAgain, retried, refused } = figures;
  return [
    ...(paid < count ? [`${count - paid} invoices are not paid`] : []),
    ...(chargedTwice > 0 ? [`${chargedTwice} CHARGED TWICE`] : []),
    ...(claimedAgain > 0 ? [`${claimedAgain} invoices were claimed more than once`] : []),
    ...(retried > 0 ? [`${retried} invoices waited for another try`] : []),
    ...(refused > bars.refused ? [`more than ${bars.refused * 100} % of the calls refused`] : []),
  ];
}
