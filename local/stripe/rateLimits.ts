import { type Operation, operations } from './operation.ts';
import { createTokenBucket } from './tokenBucket.ts';

export interface Rates {
  /** Calls per second to each endpoint other than search. Absent: no limit. */
  rate: number | undefined;
  /** Searches per second. Absent: no limit. */
  searchRate: number | undefined;
  /** Calls per second to all endpoints together. Absent: no limit. */
  accountRate: number | undefined;
}

/** Which limit a call exceeds, in the words of Stripe's header `Stripe-Rate-Limited-Reason`. */
export type RateLimitedReason = 'global-rate' | 'endpoint-rate';

export interface RateLimits {
  /** The limit that refuses the call. Undefined if the call is within all limits; it then takes a token of each. */
  refuses(operation: Operation): RateLimitedReason | undefined;
}

/**
 * One limit per endpoint, and one for the account. At Stripe each named operation is an endpoint, whatever id
 * is in its path (https://docs.stripe.com/rate-limits). The account's limit comes first: a call that it refuses
 * takes no token of its endpoint.
 */
export function createRateLimits(
  { rate, searchRate, accountRate }: Rates,
  monotonic: () => number,
): RateLimits {
  const bucketOf = (limit: number | undefined) =>
    limit === undefined ? undefined : createTokenBucket(limit, monotonic);
  const account = bucketOf(accountRate);
  const endpoints = new Map(
    operations.map((operation) => [operation, bucketOf(operation === 'search' ? searchRate : rate)] as const),
  );
  return {
    refuses(operation) {
      if (account?.take() === false) return 'global-rate';
      return endpoints.get(operation)?.take() === false ? 'endpoint-rate' : undefined;
    },
  };
}
