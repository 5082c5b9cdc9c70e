import type { Cell } from './cells.ts';

/** The figures of one cell. Shares are from 0 to 1. */
export interface Measurement {
  /** Share of the allowance that became charges, while nothing changed. */
  share: number;
  /** The same over the 30 s after a host was killed or added. */
  shareAfterChange?: number;
  /** Share of the calls that were refused, warm-up included. */
  refused: number;
  claimsPerPaid: number;
  cosmosPerInvoice: number;
  /** Requests to the container `pace`; `cosmosPerInvoice` leaves them out. */
  pacePerInvoice: number;
  /** Share of the machine's processor time that was used. With little left, a miss may be the machine's. */
  busy: number;
  paid: number;
  /** Charges whose invoice is not paid at the end. */
  unsettled: number;
  chargedTwice: number;
}

/** Bars that a cell has to meet. */
export const bars = {
  share: 0.99,
  shareAfterChange: 0.97,
  refused: 0.01,
  claimsPerPaid: 1.02,
  /** Share of the charges; a killed host may leave more for later. */
  unsettled: 0.01,
} as const;

/** Which bars a cell misses, in words. Pure. */
export function missesOf({ change }: Pick<Cell, 'change'>, measured: Measurement): string[] {
  const { share, shareAfterChange, refused, paid, unsettled, chargedTwice } = measured;
  const misses: string[] = [];
  if (!(share >= bars.share)) misses.push(`share below ${bars.share}`);
  if (change !== undefined && !((shareAfterChange ?? Number.NaN) >= bars.shareAfterChange)) {
    misses.push(`share after the change below ${bars.shareAfterChange}`);
  }
  if (!(refused <= bars.refused)) misses.push(`more than ${bars.refused * 100} % refused`);
  if (!(measured.claimsPerPaid <= bars.claimsPerPaid)) {
    misses.push(`more than ${bars.claimsPerPaid} claims per paid invoice`);
  }
  if (change !== 'kill' && unsettled > bars.unsettled * (paid + unsettled)) {
    misses.push(`${unsettled} charges are not settled`);
  }
  if (chargedTwice > 0) misses.push(`${chargedTwice} CHARGED TWICE`);
  return misses;
}
