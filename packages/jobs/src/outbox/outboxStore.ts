import type { Patch } from '../documents/documentStore.ts';
import type { Page } from '../documents/pages.ts';
import { dispatchedTtl, type OutboxEntry, type OutboxMessage, type OutboxStatus } from './outboxMessage.ts';

/** Filter of a list of messages. Absent fields do not matter. */
export interface OutboxFilter {
  status?: OutboxStatus;
  destination?: string;
  /** Part of the last error, in any case. */
  error?: string;
  /** Written before this time, or at this time or later: ISO 8601, UTC, with milliseconds. */
  before?: string;
  after?: string;
}

export type DiscardedMessage = { kind: 'discarded'; message: OutboxEntry } | Refused;

export type RedrivenMessage = { kind: 'redriven'; message: OutboxEntry } | Refused;

type Refused =
  | { kind: 'notFound' }
  /** Refused, with the marks that an earlier call left in the message, if there was one. */
  | ({ kind: 'refused'; status: OutboxStatus } & Pick<OutboxEntry, 'redrivenBy' | 'discarded'>);

export interface DueQuery {
  /** ISO 8601. */
  now: string;
  limit: number;
  shard?: string;
  except?: { shards: readonly string[]; destinations: readonly string[] };
}

/**
 * Keeps the messages of an outbox, which others create and mark. All methods may reject with `StoreAway`. See
 * `packages/jobs/src/testing/outbox/outboxStoreContract.ts`.
 */
export interface OutboxStore {
  /**
   * Pending messages whose next try is due at `now` (ISO 8601, UTC), longest waiting first. `more`: there may be others behind
   * these. `shard`: of this partition only. `except`: not of these partitions, nor for these destinations.
   */
  due(query: DueQuery): Promise<{ messages: OutboxMessage[]; more: boolean }>;
  /** A page of all partitions: pending or parked ones longest waiting first, others newest first. @throws {BadContinuation} */
  list(query: OutboxFilter & { continuation?: string; pageSize: number }): Promise<Page<OutboxEntry>>;
  /** Number of messages that match, over all partitions. */
  count(filter: OutboxFilter): Promise<number>;
  /**
   * Puts a parked message back to pending at `at` (ISO 8601), as if it had been written then; the sweeper dispatches it.
   * `runId`: the bulk run that does it, which the message then names.
   * This undoes nothing that has been settled since: its receiver looks at the claims and effects as they are then. @throws {NewerVersion}
   */
  redrive(id: string, at: string, runId?: string): Promise<RedrivenMessage>;
  /** Gives a parked message up for good: it counts as dispatched and expires, with `discarded` in it. @throws {NewerVersion} */
  discard(id: string, why: NonNullable<OutboxEntry['discarded']>): Promise<DiscardedMessage>;
  /** Time (ISO 8601) from which the oldest pending message has been waiting, failed sends included. */
  oldestPending(): Promise<string | undefined>;
}

const isParked = { path: 'status', is: '=', value: 'parked' } as const;

/** Puts a parked message back to pending, as if written at `at` (ISO 8601). `runId`: of the bulk run that does it. Pure. */
export function redrivePatch(id: string, at: string, runId?: string): Patch {
  const by = runId === undefined ? {} : { redrivenBy: runId };
  const set = { status: 'pending', attempts: 0, nextAttemptAt: at, notBefore: at, ...by };
  return { kind: 'patch', id, where: [isParked], set };
}

/** The answer about a message that is not parked, or is not there. Pure. */
export function notParked(message: OutboxEntry | undefined): Refused {
  if (message === undefined) return { kind: 'notFound' };
  const { status, redrivenBy, discarded } = message;
  return {
    kind: 'refused',
    status,
    ...(redrivenBy === undefined ? {} : { redrivenBy }),
    ...(discarded === undefined ? {} : { discarded }),
  };
}

/** The write that discards a parked message. Earlier releases see it as dispatched, and leave it alone. Pure. */
export function discardPatch(id: string, discarded: NonNullable<OutboxEntry['discarded']>): Patch {
  const set = { status: 'dispatched', ttl: dispatchedTtl, discarded };
  return { kind: 'patch', id, where: [isParked], set };
}
