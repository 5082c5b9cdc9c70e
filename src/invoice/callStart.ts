/**
 * How the calls of a claimed invoice begin, as the claim records it:
 *
 *   claimed ──start──► calling ──settle──► the claim is over
 *      ▲                │   ▲ │
 *      └── give back ───┘   └─┘ start again, one attempt more
 *
 * A delivery of the batch's message starts the calls, and gives back what it has not called when it has to stop. A claim
 * that says `calling` may have been charged. A delivery that finds it so without having started it assumes that the
 * one that did is dead, and calls again as one attempt more.
 */
import type { Condition, Patch } from '../documents/documentStore.ts';
import type { Claim, Invoice } from './invoice.ts';
import { claimedBy } from './invoiceChange.ts';

/** Calls of an earlier delivery: they may have charged. */
export interface EarlierCalls {
  /** Since when: ISO 8601. */
  since: string;
  attempt: number;
}

export interface ToStart {
  invoiceId: string;
  /** Since when its key is in use (ISO 8601), which the claim may have written too late. Absent: as the claim has it. */
  keyCreatedAt?: string;
  earlier?: EarlierCalls;
}

/** An invoice that another delivery has begun to call. */
export type CalledBefore = Required<Pick<ToStart, 'invoiceId' | 'earlier'>>;

export interface Starting {
  batchId: string;
  /** Names this start and no other. */
  startId: string;
  /** When the claim goes stale: ISO 8601. */
  staleAt: string;
}

/**
 * Starts the calls of an invoice that nobody has called under this claim. The age of its key is stored before they are made:
 * nothing may be written of their end.
 */
export function start(
  { invoiceId, keyCreatedAt }: Omit<ToStart, 'earlier'>,
  { batchId, startId, staleAt }: Starting,
): Patch {
  return {
    kind: 'patch',
    id: invoiceId,
    where: [...claimedBy(batchId), { path: 'claim.phase', is: '=', value: 'claimed' }],
    set: {
      'claim.phase': 'calling',
      'claim.startedBy': startId,
      actionableAt: staleAt,
      ...(keyCreatedAt === undefined ? {} : { 'payment.keyCreatedAt': keyCreatedAt }),
    },
  };
}

/** Starts them again, if nobody else has since. */
export function startAgain(
  invoiceId: string,
  { attempt: before }: EarlierCalls,
  { batchId, startId, staleAt, at, by }: Starting & { at: string; by: string },
): Patch {
  const attempt = before + 1;
  return {
    kind: 'patch',
    id: invoiceId,
    where: [...claimedBy(batchId), { path: 'claim.attempt', is: '=', value: before }],
    set: {
      'claim.phase': 'calling',
      'claim.attempt': attempt,
      'claim.startedBy': startId,
      attempts: attempt,
      actionableAt: staleAt,
    },
    append: { path: 'timeline', value: { at, what: 'called again', by, attempt, batchId } },
  };
}

/** The condition of a write that holds only while no other delivery has started since: that one may have charged. */
export function startedAs({ startId }: Pick<Starting, 'startId'>): Condition[] {
  return [{ path: 'claim.startedBy', is: '=', value: startId }];
}

/** Whether a stored invoice is as that condition asks. */
export function isStartedAs(
  { claim }: Pick<Invoice, 'claim'>,
  { startId }: Pick<Starting, 'startId'>,
): boolean {
  return claim?.startedBy === startId;
}

/** Takes a start back, whose calls were not made. */
export function giveBack(
  invoiceId: string,
  earlier: EarlierCalls | undefined,
  { batchId, startId }: Starting,
): Patch {
  return {
    kind: 'patch',
    id: invoiceId,
    where: [...claimedBy(batchId), ...startedAs({ startId })],
    set:
      earlier === undefined
        ? { 'claim.phase': 'claimed' }
        : { 'claim.attempt': earlier.attempt, attempts: earlier.attempt },
  };
}

/** The calls of another delivery that a claim tells of; undefined if none have begun. */
export function earlierCalls({ phase, at, attempt }: Claim): EarlierCalls | undefined {
  return phase === 'calling' ? { since: at, attempt } : undefined;
}
