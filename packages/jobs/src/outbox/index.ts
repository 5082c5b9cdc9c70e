/**
 * Messages stored in the transaction of a change and sent afterwards, at least once: beside documents
 * (`@payonce/jobs/outbox/cosmos`), to destinations (`…/service-bus`, `…/storage-queue`, or your own).
 */
export {
  createDispatcher,
  createSender,
  type Dispatcher,
  type Sender,
  type SendMessages,
} from './dispatcher.ts';
export {
  type NewOutboxMessage,
  type OutboxEntry,
  type OutboxMessage,
  type OutboxStatus,
  outboxMessageSchema,
  outboxStatuses,
} from './outboxMessage.ts';
export { type DispatchDecision, newOutboxMessage, type SendResult } from './messageMoves.ts';
export type { DueQuery, OutboxStore, RedrivenMessage } from './outboxStore.ts';
export { oldestPendingMs, type SweepCounts, type SweepParts, sweepOutbox } from './sweepOutbox.ts';
