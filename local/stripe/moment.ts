/** When something happens, and the request that causes it. */
export interface Moment {
  /** Epoch milliseconds. */
  at: number;
  /** Null if time causes it, such as the outcome of a bank debit. */
  requestId: string | null;
  idempotencyKey: string | null;
}

/** Seconds since the epoch, as in all of Stripe's `created`. */
export const epochSeconds = ({ at }: Pick<Moment, 'at'>): number => Math.floor(at / 1000);
