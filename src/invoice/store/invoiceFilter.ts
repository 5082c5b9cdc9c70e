import type { InvoiceStatus } from '../invoice.ts';

/** Which invoices to list. What is absent does not matter. */
export interface InvoiceFilter {
  /** The customer's id. */
  customer?: string;
  /** ISO 4217 code. */
  currency?: string;
  status?: InvoiceStatus;
  /** Due at this time or later: ISO 8601, UTC, with milliseconds. */
  dueAfter?: string;
  /** Due before this time: the same. */
  dueBefore?: string;
  /** Its payment, a refund or a dispute is not decided: the provider is asked about it. */
  undecided?: true;
}
