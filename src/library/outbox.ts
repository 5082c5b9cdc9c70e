/**
 * `payonce/outbox`: messages that are stored in the transaction of the change that they announce, and sent afterwards, at
 * least once. `payonce/outbox/cosmos` keeps them beside your documents; `payonce/outbox/service-bus` and
 * `payonce/outbox/storage-queue` send them, or a destination of your own does.
 */
export type { Page } from '../documents/pages.ts';
export type { OnUnreadable, Unreadable } from '../documents/storedDocuments.ts';
export { createDispatcher, type Dispatcher, type SendMessages } from '../outbox/dispatcher.ts';
export {
  type DispatchDecision,
  type NewOutboxMessage,
  newOutboxMessage,
  type OutboxEntry,
  type OutboxMessage,
  type OutboxStatus,
  type SendResult,
} from '../outbox/outboxMessage.ts';
export type { Dispatched, DueQuery, OutboxStore, RedrivenMessage } from '../outbox/outboxStore.ts';
export { type SweepCounts, type SweepParts, sweepOutbox } from '../outbox/sweepOutbox.ts';
