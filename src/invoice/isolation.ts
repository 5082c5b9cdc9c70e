/**
 * How an invoice whose calls ended without a word is tried again. Perhaps paying it ends the process: then all that the
 * process was paying ends without a word, and only trying apart shows which invoice it was. So each attempt is made in
 * smaller company, the last one alone, and each takes longer to be followed by the next.
 */
import type { Invoice } from './invoice.ts';
import { maxAttempts } from './maxAttempts.ts';

/** How many are called together on this attempt, of batches of `batchSize`: all on the first, one on the last. Pure. */
export function companyOf(attempt: number, batchSize: number): number {
  const left = Math.max(0, maxAttempts - attempt) / (maxAttempts - 1);
  return Math.floor(batchSize ** left);
}

/** What the second attempt adds to the time until its claim is stale, as a share of that time; doubles with each attempt. */
const firstPause = 0.1;

/**
 * How long a claim on this attempt is trusted from its start, in milliseconds. The pause grows, so that processes end less
 * and less often, and so that what was not called yet comes first. Pure.
 */
export function staleAfterMs(attempt: number, claimStaleMs: number): number {
  const pause = attempt < 2 ? 0 : firstPause * 2 ** (attempt - 2);
  return Math.round(claimStaleMs * (1 + pause));
}

/**
 * As which attempt an invoice is to be tried apart; undefined if it is under no suspicion. It is under suspicion from a stale
 * claim whose calls had begun until a call gets a definite answer. One that the provider answered with a failure, or not at
 * all, or that was not made, proves nothing: `apartAfter` keeps the suspicion while the invoice waits for its next try. Pure.
 */
export function isolatedAttempt(
  invoice: Pick<Invoice, 'status' | 'attempts' | 'claim' | 'apartAfter'>,
): number | undefined {
  const { status, attempts, claim, apartAfter } = invoice;
  if (status === 'pending' && apartAfter === attempts && attempts < maxAttempts) return attempts + 1;
  if (status !== 'claimed' || claim === undefined) return undefined;
  if (claim.phase === 'calling') return attempts < maxAttempts ? attempts + 1 : undefined;
  return claim.isolated === true ? claim.attempt : undefined;
}
