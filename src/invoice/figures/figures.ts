export interface Backlog {
  /** Due, and claimed by nobody or by a claim that is stale. */
  waiting: number;
  /** Claimed, and not stale. */
  claimed: number;
  /** Since when (ISO 8601) the first of those that wait has been due; absent if none waits. */
  since?: string;
}

export interface InvoiceFigures {
  byStatus: ReadonlyMap<string, number>;
  /** Claims whose holder has given no sign of life for too long. */
  staleClaims: number;
  /** Invoices with a recorded successful charge. */
  charges: number;
  /** Invoices of which something is refunded or about to be, by currency. */
  refunded: readonly ReversedFigure[];
  /** Refunds of ours that were ordered in vain so far, or that a person has to decide on. */
  overdueRefunds: number;
  /** Disputes that the bank has not decided, by currency. */
  openDisputes: readonly ReversedFigure[];
  /** Invoices that have moved to the archive; the other figures include them. */
  archived: number;
}

export interface ReversedFigure {
  currency: string;
  count: number;
  /** Their sum in minor units; exact up to 2⁵³. */
  amountMinor: number;
}
