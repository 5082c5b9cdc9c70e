import { createHash } from 'node:crypto';
import type { Refund } from '../invoice/reversals.ts';

/** The id of the refund that an Idempotency-Key stands for: the same key of the same invoice is the same refund. */
export function refundIdOf(invoiceId: string, idempotencyKey: string): string {
  const hash = createHash('sha256').update(JSON.stringify([invoiceId, idempotencyKey]));
  return `rf_${hash.digest('base64url')}`;
}

/** The provider's idempotency key number `n` of a refund. */
export function providerKey(refundId: string, n: number): string {
  return `refund-${refundId}-${n}`;
}

const hour = 3_600_000;

/**
 * A key older than this (milliseconds) is never sent again: Stripe keeps its result for at least 24 h
 * (https://docs.stripe.com/api/idempotent_requests).
 */
const sentWithinMs = 23 * hour;

/**
 * From this age on (milliseconds), a refund that the provider does not show goes out under the next key. The pause between
 * the two is far longer than a call takes, so no call under the old key can still be on its way.
 */
const replacedAfterMs = 23.5 * hour;

export type KeyDecision =
  /** Send it under this key, which is stored. */
  | { kind: 'send'; number: number }
  /** Store this key, then send it. */
  | { kind: 'store'; number: number }
  /** Neither: the old key may not be sent any more, and the next one not yet. */
  | { kind: 'wait' };

/** The key under which a refund that the provider does not show is sent at `now` (milliseconds). Pure. */
export function decideKey({ key }: Pick<Refund, 'key'>, now: number): KeyDecision {
  if (key === undefined) return { kind: 'store', number: 1 };
  const ageMs = now - Date.parse(key.createdAt);
  if (ageMs <= sentWithinMs) return { kind: 'send', number: key.number };
  return ageMs < replacedAfterMs ? { kind: 'wait' } : { kind: 'store', number: key.number + 1 };
}
