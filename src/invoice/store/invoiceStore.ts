import type { Fence } from '@payonce/jobs/claims';
import type { Page, Patch } from '@payonce/jobs/documents';
import type { OutboxMessage } from '@payonce/jobs/outbox';
import type { ReportKind } from '../counters/counters.ts';
import type { FoundKind, Only } from '../foundKinds.ts';
import type { Invoice, InvoiceContent } from '../invoice.ts';
import type { CalledBefore, InvoiceChange, Standing, Starting, ToStart } from '../invoiceChange.ts';
import type { InvoiceStatus } from '../invoiceStatus.ts';

/**
 * The store of invoices, as features need it. Two stores implement it, Cosmos DB and one in memory for tests and
 * simulation; `test/invoice/store/invoiceStoreContract.ts` says how one behaves.
 *
 * Each write is one transaction on a condition, and is run until the answer is clear. All methods may reject with `StoreAway`.
 */

export interface InvoiceStore {
  /**
   * The invoices of one shard with something to do at `now` (ISO 8601, UTC), longest waiting first, page by page: pending
   * and due, or claimed and stale.
   */
  due(query: { shard: string; now: string; pageSize: number }): AsyncIterable<readonly Invoice[]>;
  /** Claims invoices as a batch. @throws {FencedOut} */
  claim<P extends Writes>(request: ClaimRequest<P>): Promise<Claimed<P>>;
  /** Marks invoices of a batch as being called. @throws {NoClearAnswer} */
  start(request: StartRequest): Promise<Started>;
  /** Takes back a start whose calls were not made. No rejection for the store's sake: what stays counts as called. */
  giveBack(started: Pick<Started, 'starting' | 'held'> & { shard: string }): Promise<void>;
  /** Writes what became of some invoices of a batch. @throws {NoClearAnswer} */
  settle<T extends SettledItem>(request: SettleRequest<T>): Promise<Settled<T>>;
  /** Changes one invoice, decided on what is stored. @throws {NoClearAnswer} {NewerVersion} */
  update<R>(id: string, request: UpdateRequest<R>): Promise<Updated<R>>;
  /** Changes some invoices of one shard together, each decided on what is stored. @throws {NoClearAnswer} */
  change<R>(request: ChangeRequest<R>): Promise<ChangedInvoices<R>>;
  /**
   * Stores new invoices as they come, some at a time, and takes more only once some are stored. A failing
   * store does not reject it: each invoice has its own outcome, and `failure` is the last error of the store. Never add the same id twice at once.
   */
  add(
    contents: AsyncIterable<readonly InvoiceContent[]> | Iterable<readonly InvoiceContent[]>,
    options: AddOptions,
  ): Promise<{ failure?: unknown }>;
  /** @throws {NewerVersion} */
  find(id: string): Promise<Invoice | undefined>;
  /**
   * A page of the invoices that match, in the order of shard and id, which no change of an invoice affects: what happens
   * between two pages hides none and repeats none. @throws {BadContinuation}
   */
  list(query: InvoiceFilter & { continuation?: string; pageSize: number }): Promise<Page<Invoice>>;
  /**
   * A page of the invoices in the order of their due dates. One that is moved between two pages may hide or repeat its invoice.
   * @throws {BadContinuation}
   */
  listByDue(query: SortedList): Promise<Page<Invoice>>;
  /** The number of invoices that match, and their sums by currency; no more than `most` are read. */
  totals(filter: InvoiceFilter, most: number): Promise<InvoiceTotals>;
  /** The invoices and customers that a text finds: it begins their name, or is an amount of theirs. Few of each kind. */
  search(text: string): Promise<Found>;
  /**
   * Numbers of invoices over all shards at `now` (ISO 8601, UTC). Read from counters that each write keeps
   * (invoice/counters/counters.ts), so the number of invoices does not matter.
   */
  counts(now: string): Promise<StandingCounts>;
  /** Amounts paid, declined, refunded and disputed on each of these days (`YYYY-MM-DD`, both included), from the same counters. */
  dayCounts(days: { from: string; to: string }): Promise<{ counts: DayCount[]; unreadable: number }>;
  /** Counts the invoices of a shard, and corrects its counters. @throws {NewerVersion} {UnreadableDocument} */
  recount(shard: string): Promise<Recounted>;
  /** Keeps the counters cheap to read; each sweep does (invoice/counters/invoiceCounters.ts). */
  moveHorizons(signal?: AbortSignal): Promise<void>;
  /** Number of claims that are not stale at `now` (ISO 8601, UTC), over all shards. */
  openClaims(now: string): Promise<number>;
  /** Invoices still to be paid at `now` (ISO 8601, UTC), over all shards. */
  backlog(now: string): Promise<Backlog>;
  /** Invoices that should have been paid by `now` (ISO 8601, UTC), over all shards. */
  overdue(now: string): Promise<Overdue>;
  parkedCount(): Promise<number>;
  /** Parked invoices by their reason, as it is stored. */
  parkedByReason(): Promise<ReadonlyMap<string, number>>;
  /** Invoices in progress whose next check is due at `now` (ISO 8601, UTC), longest due first, over all shards. */
  toCheck(query: { now: string; limit: number }): Promise<readonly Invoice[]>;
  /** Start of the oldest payment in progress (ISO 8601); undefined if there is none. */
  inProgressSince(): Promise<string | undefined>;
  /** Start of the oldest unknown outcome (ISO 8601); undefined if there is none. */
  unknownSince(): Promise<string | undefined>;
}

export interface ClaimRequest<P extends Writes> {
  shard: string;
  /** The claim's token; each patch writes it into the invoice's timeline, by which a lost answer is settled. */
  batchId: string;
  /** As they were read. Those that somebody else changed since are dropped, and the others are claimed. */
  invoices: readonly Invoice[];
  fence: Fence;
  /** Plans the write at `now` (milliseconds); asked again for each try. Pure. */
  plan: (invoices: readonly Invoice[], now: number) => P;
  /** Called before each try: throws if the lease is no longer held. */
  assertHeld: () => void;
}

export interface Claimed<P extends Writes> {
  /** The plan of the last try; absent if nothing was written. */
  written?: P;
  /** The reason if the order of the payments is stored and could not be sent yet (invoiceWrites.ts). */
  unsent?: string;
  /** Invoices that somebody else changed first, or that the store gave no clear answer for. */
  contended: number;
}

export interface StartRequest {
  shard: string;
  batchId: string;
  /** `earlier`: another delivery has called, and these are to be called again, as one attempt more. */
  invoices: readonly ToStart[];
  /** Milliseconds from now until the claim goes stale again. */
  staleAfterMs: number;
  /** Name of the instance. */
  by: string;
}

export interface Started {
  /** Those that are marked as being called by this start. */
  held: readonly ToStart[];
  /** Another delivery of the batch has begun to call, or to call again. They are not marked. */
  calledBefore: readonly CalledBefore[];
  dropped: Readonly<Record<Exclude<Standing, 'held'>, number>>;
  starting: Starting;
}

/** An invoice of a batch, and what it asks for: the counters of its day add that up. */
export interface SettledItem {
  invoiceId: string;
  amountMinor: number;
  currency: string;
  /** The start that it speaks for: it is lost if another delivery has started since. Absent: it holds for any. */
  start?: Starting;
}

export interface SettleRequest<T> {
  shard: string;
  batchId: string;
  /** Names this settlement, in the timeline of each invoice: a lost answer is settled by it. */
  settlementId: string;
  items: readonly T[];
  /** Plans the write of these items. Pure. */
  plan: (items: readonly T[]) => Writes;
}

export interface Settled<T> {
  settled: readonly T[];
  messages: readonly OutboxMessage[];
  /** Items whose invoice another claim, or another delivery of this one, had taken meanwhile. */
  lost: number;
}

export interface UpdateRequest<R> {
  /**
   * Decides on the invoice as it is stored; asked again if somebody else changed it meanwhile. `write` names this update and no
   * other: the store adds it to the timeline entry. Pure.
   */
  decide: (
    invoice: Invoice,
    write: string,
  ) =>
    | { kind: 'change'; change: InvoiceChange; messages?: readonly OutboxMessage[] }
    | { kind: 'refuse'; why: R };
  /** Called before each try: throws if this process may not write any more. */
  beforeTry?: () => void;
}

export type Updated<R> =
  | { kind: 'updated'; before: Invoice; invoice: Invoice; messages: readonly OutboxMessage[] }
  | { kind: 'notFound' }
  | { kind: 'refused'; why: R };

/** Which invoices to list. What is absent does not matter. */
export interface InvoiceFilter {
  /** The customer's id. */
  customer?: string;
  /** ISO 4217 code. */
  currency?: string;
  status?: InvoiceStatus;
  /** Due at this time or later: ISO 8601, UTC, with milliseconds. */
  dueAfter?: string;
  /** Due before this time: the same. */
  dueBefore?: string;
  /** Its payment, a refund or a dispute is not decided: the provider is asked about it. */
  undecided?: true;
  only?: Only;
  /** Id of a run that has claimed, retried or voided it. */
  run?: string;
  /** A figure of the report, and its day (`paid:2026-01-31`, UTC): the report counts the invoice there. */
  counted?: `${ReportKind}:${string}`;
}

export interface SortedList extends Pick<InvoiceFilter, 'dueAfter' | 'dueBefore'> {
  order: 'ASC' | 'DESC';
  continuation?: string;
  pageSize: number;
}

export interface InvoiceTotals {
  count: number;
  /** False: there are more, and the sums are of those that were read. */
  isExact: boolean;
  sums: readonly ReversedCount[];
  /** Request units. */
  charge: number;
}

/** The outcome of a search. */
export interface Found {
  groups: readonly { kind: FoundKind; invoices: readonly Invoice[]; hasMore: boolean }[];
  customers: readonly string[];
  hasMoreCustomers: boolean;
  /** Request units. */
  charge: number;
}

/**
 * Invoices that should have been paid by now: due and waiting, or claimed, or claimed before and waiting for another try. An
 * invoice that waits for the date of its next try after a decline is none, and neither is one whose due date was moved.
 */
export interface Overdue {
  count: number;
  /** First claim of the oldest one's present key (ISO 8601); absent if none was claimed. */
  claimedSince?: string;
  /** Due time of the oldest whose present key was never claimed (ISO 8601); absent if there is none. */
  dueSince?: string;
}

/** An invoice that was claimed and not paid waits no longer than this for its next try, in milliseconds. */
export const retryWithinMs = 3_600_000;

/** Due time of the oldest of these, or the time of its import if that is later. */
export function oldestDue(
  waiting: readonly { actionableAt: string; createdAt: string }[],
): string | undefined {
  return waiting
    .flatMap(({ actionableAt, createdAt }) => [actionableAt, createdAt].toSorted().slice(-1))
    .toSorted()[0];
}

/** Age of the oldest at `now` (ms), by either measure; 0 if there is none. */
export function overdueMs({ claimedSince, dueSince }: Overdue, now: number): { claim: number; due: number } {
  const age = (since: string | undefined) => (since === undefined ? 0 : Math.max(0, now - Date.parse(since)));
  return { claim: age(claimedSince), due: age(dueSince) };
}

export type AddOutcome =
  | 'created'
  /** It is stored already, with the same content. */
  | 'duplicate'
  /** Its id is stored already, with other content. */
  | 'otherContent'
  /** Its id is that of another kind of document. */
  | 'idTaken'
  | 'notStored'
  /** It may have been stored: the answer was lost. */
  | 'unclear';

export interface AddOptions {
  /** Name of the importer. */
  by: string;
  /** Milliseconds after which no transaction begins any more. */
  withinMs: number;
  /** Called once for each, as soon as it is known. */
  settled: (invoice: InvoiceContent, outcome: AddOutcome) => void;
}

/** The content of one transaction: changes of invoices, and the outbox messages that announce them. */
export interface Writes {
  readonly patches: readonly Patch[];
  readonly messages: readonly OutboxMessage[];
}

export interface ChangeRequest<R> {
  shard: string;
  /** At most 48: each may change the counters of another day, and a transaction has 100 operations. */
  ids: readonly string[];
  /** Decides on each as it is stored; asked again for those that somebody else changed meanwhile. */
  decide: (invoice: Invoice) => { kind: 'change'; change: InvoiceChange } | { kind: 'refuse'; why: R };
  /** Called before each try: throws if this process may not write any more. */
  beforeTry?: () => void;
}

export interface ChangedInvoices<R> {
  changed: readonly string[];
  refused: ReadonlyMap<string, R>;
  missing: readonly string[];
}

export interface Backlog {
  /** Due, and claimed by nobody or by a claim that is stale. */
  waiting: number;
  /** Claimed, and not stale. */
  claimed: number;
  /** Due time of the first of those that wait (ISO 8601); absent if none waits. */
  since?: string;
}

export interface StandingCounts {
  byStatus: ReadonlyMap<string, number>;
  /** Claims whose holder has given no sign of life for too long. */
  staleClaims: number;
  /** Invoices with a recorded successful charge. */
  charges: number;
  /** Invoices of which something is refunded or about to be, by currency. */
  refunded: readonly ReversedCount[];
  /** Refunds of ours that were ordered in vain so far, or that a person has to decide on. */
  overdueRefunds: number;
  /** Disputes that the bank has not decided, by currency. */
  openDisputes: readonly ReversedCount[];
  /** Invoices that are in the archive; the other counts include them. */
  archived: number;
}

export interface ReversedCount {
  currency: string;
  count: number;
  /** Their sum in minor units; exact up to 2⁵³. */
  amountMinor: number;
}

/** A day's sum of one kind in one currency. */
export interface DayCount {
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  currency: string;
  kind: ReportKind;
  count: number;
  amountMinor: number;
}

/** A count that a recount has put right. */
export interface Correction {
  shard: string;
  /** `YYYY-MM-DD`; absent if it is no counter of a day. */
  day?: string;
  figure: string;
  was: number;
  is: number;
}

export type Recounted =
  | { kind: 'recounted'; invoices: number; corrections: Correction[] }
  /** Invoices of this shard were changed meanwhile: to be tried again. */
  | { kind: 'busy' };
