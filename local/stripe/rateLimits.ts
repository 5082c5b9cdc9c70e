import { type Operation, operations } from './operation.ts';
import { createTokenBucket } from './tokenBucket.ts';

export interface Rates {
  /** Calls per second to each endpoint other than search. Absent: no limit. */
  rate: number | undefined;
  /** Searches per second. Absent: no limit. */
  searchRate: number | undefined;
}

export interface RateLimits {
  /** Whether the call is within its endpoint's limit. Takes a token if so. */
  admits(operation: Operation): boolean;
}

/**
 * One limit per endpoint. At Stripe each named operation is an endpoint, whatever id is in its path
 * (https://docs.stripe.com/rate-limits).
 */
export function createRateLimits({ rate, searchRate }: Rates, monotonic: () => number): RateLimits {
  const buckets = new Map(
    operations.flatMap((operation) => {
      const limit = operation === 'search' ? searchRate : rate;
      return limit === undefined ? [] : [[operation, createTokenBucket(limit, monotonic)] as const];
    }),
  );
  return { admits: (operation) => buckets.get(operation)?.take() ?? true };
}
