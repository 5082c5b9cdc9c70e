import type { Invoice } from './invoice.ts';

/** Claims of one invoice that may end without a known outcome; then a person looks at it. */
export const maxAttempts = 5;

/** What a run does with an invoice that it has read. */
export type ClaimDecision =
  /** Nobody has it and it is due. */
  | { kind: 'claim'; attempt: number }
  /** Its claim is stale: whoever had it gave no sign of life until `actionableAt`. */
  | { kind: 'reclaim'; attempt: number; from: string }
  /** Too many claims have ended without an outcome. */
  | { kind: 'park'; reason: string }
  | { kind: 'skip'; why: 'notDue' | 'settled' };

/** Decides on one invoice at time `now` (ISO 8601, UTC). Pure: the write that follows is conditional on what was read. */
export function decideClaim(invoice: Invoice, now: string): ClaimDecision {
  const { status, actionableAt, attempts, claim } = invoice;
  if (status !== 'pending' && status !== 'claimed') return { kind: 'skip', why: 'settled' };
  if (actionableAt === undefined || actionableAt > now) return { kind: 'skip', why: 'notDue' };
  if (attempts >= maxAttempts) {
    return { kind: 'park', reason: `${attempts} attempts ended without a known outcome` };
  }
  if (status === 'claimed' && claim !== undefined) {
    return { kind: 'reclaim', attempt: attempts + 1, from: claim.by };
  }
  return { kind: 'claim', attempt: attempts + 1 };
}
