import type { Invoice } from '../invoice/invoice.ts';
import { maxAttempts } from '../invoice/maxAttempts.ts';

/** What a run does with an invoice that it has read. */
export type ClaimDecision =
  /** Nobody has it and it is due. */
  | { kind: 'claim'; attempt: number }
  /** Its claim is stale: no sign of life until `actionableAt`. `called`: it may have been charged. */
  | { kind: 'reclaim'; attempt: number; from: string; called: boolean }
  /** Too many claims have ended without an outcome. */
  | { kind: 'park'; reason: string }
  | { kind: 'skip'; why: 'notDue' | 'settled' };

/**
 * Decides on one invoice at time `now` (ISO 8601, UTC). Pure: the write that follows is conditional on what was read.
 *
 * A stale claim whose batch never started charged nothing, because the start is written before the first call and is
 * refused once another batch has the claim. It does not count as an attempt, so a queue that carries no messages for hours
 * parks no good invoice.
 */
export function decideClaim(invoice: Invoice, now: string): ClaimDecision {
  const { status, actionableAt, attempts, claim } = invoice;
  if (status !== 'pending' && status !== 'claimed') return { kind: 'skip', why: 'settled' };
  if (actionableAt === undefined || actionableAt > now) return { kind: 'skip', why: 'notDue' };
  if (status === 'claimed' && claim?.phase === 'claimed') {
    return { kind: 'reclaim', attempt: claim.attempt, from: claim.by, called: false };
  }
  if (attempts >= maxAttempts) {
    return { kind: 'park', reason: `${attempts} attempts ended without a known outcome` };
  }
  if (status === 'claimed' && claim !== undefined) {
    return { kind: 'reclaim', attempt: attempts + 1, from: claim.by, called: true };
  }
  return { kind: 'claim', attempt: attempts + 1 };
}
