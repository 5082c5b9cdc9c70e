import type { Page } from '../documents/pages.ts';
import type { DispatchDecision, OutboxEntry, OutboxMessage, OutboxStatus } from './outboxMessage.ts';

/** What became of the dispatch of one message. */
export interface Dispatched {
  message: OutboxMessage;
  decision: DispatchDecision;
}

export type RedrivenMessage =
  | { kind: 'redriven'; message: OutboxEntry }
  | { kind: 'notFound' }
  | { kind: 'refused'; status: OutboxStatus };

export interface DueQuery {
  now: string;
  limit: number;
  shard?: string;
  except?: { shards: readonly string[]; destinations: readonly string[] };
}

/**
 * What the outbox needs of the place where its messages are kept. Messages are created elsewhere: in the transaction of
 * the change that they announce. `src/testing/outbox/outboxStoreContract.ts` says how a store behaves. All methods may reject with
 * `StoreAway`.
 */
export interface OutboxStore {
  /**
   * Pending messages of all partitions whose next try is due at `now` (ISO 8601, UTC), longest waiting first. `more`: there
   * may be others behind these. `shard`: of this partition only. `except`: without those of these partitions, and without
   * those for these destinations.
   */
  due(query: DueQuery): Promise<{ messages: OutboxMessage[]; more: boolean }>;
  /**
   * Records what became of messages, as long as nobody else has recorded something since they were read. Does not wait for
   * a store that gives no clear answer, and does not reject for its sake. Returns for how many the answer was not clear:
   * those that are still pending are sent again.
   */
  mark(dispatched: readonly Dispatched[]): Promise<{ unclear: number }>;
  /**
   * A page of messages of all partitions. Those that wait (pending, parked) come longest waiting first; dispatched ones,
   * and all together, newest first. @throws {BadContinuation}
   */
  list(query: { status?: OutboxStatus; continuation?: string; pageSize: number }): Promise<Page<OutboxEntry>>;
  /**
   * Puts a parked message back to pending at `at` (ISO 8601), as if it had been written then; the sweeper dispatches it.
   * This undoes nothing that has been settled since: its receiver looks at the claims and effects as they are then. @throws {NewerVersion}
   */
  redrive(id: string, at: string): Promise<RedrivenMessage>;
  /** Since when (ISO 8601) the oldest pending message has been waiting; a failed send counts from its beginning. */
  oldestPending(): Promise<string | undefined>;
  countByStatus(): Promise<ReadonlyMap<string, number>>;
  parkedCount(): Promise<number>;
}
