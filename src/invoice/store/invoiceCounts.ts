/** Counts that people look at, over all shards. All methods may reject with `StoreAway`. */
export interface InvoiceCounts {
  /** Parked invoices by their reason, as it is stored. */
  parkedByReason(): Promise<ReadonlyMap<string, number>>;
  /** Invoices paid in a time, by the hour (`2026-01-31T14`, UTC). `from` and `to` are ISO 8601; `to` does not count. */
  paidByHour(time: { from: string; to: string }): Promise<ReadonlyMap<string, number>>;
}
