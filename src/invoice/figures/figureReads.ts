/** What the figures ask of a store besides the documents themselves. All may reject with `StoreAway`. */
export interface FigureReads {
  /** The documents of the shards' figures, as they are stored; of all shards. */
  standing(): Promise<unknown[]>;
  /** Those of the days from one to another (`YYYY-MM-DD`), both included: of one shard or of all. Absent: of all days. */
  days(query: { from?: string; to?: string; shard?: string }): Promise<unknown[]>;
  /** Pending invoices of these shards whose `actionableAt` is at `from` or later, and before `before`. */
  pending(query: { shards: readonly string[]; from?: string; before: string }): Promise<number>;
  /** Claims of all shards that are stale at `now` (ISO 8601, UTC). */
  staleClaims(now: string): Promise<number>;
  /** Since when (ISO 8601) the first of the invoices that are due at `now` has been waiting; undefined if none is. */
  waitingSince(now: string): Promise<string | undefined>;
  /** All invoices of a shard, page by page, as far as figures depend on them. */
  all(shard: string): AsyncIterable<readonly unknown[]>;
}
