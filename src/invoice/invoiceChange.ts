import { type Condition, type Create, type Patch, formatVersion } from '@payonce/jobs/documents';
import type { Claim, Invoice, StoredEntry } from './invoice.ts';
import { maxEntries, shortened } from './timeline.ts';

/** One step of an invoice, which its timeline tells in the same write. */
export interface InvoiceChange {
  set?: Partial<
    Pick<
      Invoice,
      | 'status'
      | 'claim'
      | 'actionableAt'
      | 'checkAt'
      | 'attempts'
      | 'payment'
      | 'reason'
      | 'declinedAt'
      | 'reversals'
      | 'dueAt'
      | 'importedDueAt'
      | 'version'
    >
  >;
  clear?: readonly ('claim' | 'actionableAt' | 'checkAt' | 'reason' | 'declinedAt' | 'reversals')[];
  entry: StoredEntry;
}

/** Characters of a reason that are stored: providers and stores give texts of any length. */
export const longestReason = 500;

/** Changes an invoice if it is still as it was read. */
export function ifUnchanged(invoice: Invoice, change: InvoiceChange): Patch {
  const { set: changed, clear, entry } = bounded(change);
  const { id, _etag, timeline } = invoice;
  const patch = { kind: 'patch' as const, id, version: _etag };
  const set = invoice.version === formatVersion ? changed : { ...changed, version: formatVersion };
  const remove = clear.filter((field) => invoice[field] !== undefined);
  if (timeline.length < maxEntries) {
    return { ...patch, set, remove, append: { path: 'timeline', value: entry } };
  }
  return { ...patch, set: { ...set, timeline: [...shortened(timeline), entry] }, remove };
}

function bounded({ set = {}, clear = [], entry }: InvoiceChange): Required<InvoiceChange> {
  const reason = typeof entry.reason === 'string' ? { reason: cut(entry.reason) } : {};
  return {
    set: set.reason === undefined ? set : { ...set, reason: cut(set.reason) },
    clear,
    entry: { ...entry, ...reason },
  };
}

/** A text of at most so many characters. */
export function cut(text: string, most: number = longestReason): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Changes an invoice if this batch still has its claim, and `also` holds. What is cleared must be there. */
export function ifClaimedBy(
  batchId: string,
  id: string,
  change: InvoiceChange,
  also: readonly Condition[] = [],
): Patch {
  const { set, clear, entry } = bounded(change);
  return {
    kind: 'patch',
    id,
    where: [...claimedBy(batchId), ...also],
    set: { ...set },
    remove: clear,
    append: { path: 'timeline', value: entry },
  };
}

/** The operations that create the outbox messages which announce a change. */
export function creationsOf(messages: readonly { readonly id: string }[]): Create[] {
  return messages.map((document) => ({ kind: 'create', document }));
}

/** The claim's token, as the condition of every write of a batch: only the batch that the claim names may write. */
export function claimedBy(batchId: string): Condition[] {
  return [
    { path: 'status', is: '=', value: 'claimed' },
    { path: 'claim.batchId', is: '=', value: batchId },
  ];
}

/**
 * Standing of an invoice towards a batch that claimed it: `held` if the claim still names the batch; `settled` if nobody is
 * going to call for it.
 */
export type Standing = 'held' | 'settled' | 'staleClaim' | 'missing';

export function standing(invoice: Invoice | undefined, batchId: string): Standing {
  if (invoice === undefined) return 'missing';
  if (invoice.status === 'claimed') return invoice.claim?.batchId === batchId ? 'held' : 'staleClaim';
  return invoice.status === 'pending' ? 'staleClaim' : 'settled';
}

/**
 * The calls of a claimed invoice, as the claim records them:
 *
 *   claimed ──start──► calling ──settle──► the claim is over
 *      ▲                │   ▲ │
 *      └── return ──────┘   └─┘ start again, one attempt more
 *
 * A delivery of the batch's message starts the calls, and returns what it has not called when it has to stop. A claim that says
 * `calling` may have been charged: a delivery that did not start it takes the one that did for dead, and calls again.
 */

/** Calls of an earlier delivery: they may have charged. */
export interface EarlierCalls {
  /** Time of the claim (ISO 8601). */
  since: string;
  attempt: number;
}

export interface ToStart {
  invoiceId: string;
  /** First use of the idempotency key (ISO 8601). Defaults to the claim's time, which can be late. */
  keyCreatedAt?: string;
  earlier?: EarlierCalls;
}

/** An invoice that another delivery has begun to call. */
export type CalledBefore = Required<Pick<ToStart, 'invoiceId' | 'earlier'>>;

export interface Starting {
  batchId: string;
  /** Names this start and no other. */
  startId: string;
  /** Time at which the claim goes stale (ISO 8601). */
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

/** The same condition, of an invoice that was read. */
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
