/**
 * Messages that are stored in the transaction of the change that they announce, and sent afterwards, at
 * least once. `@payonce/jobs/outbox/cosmos` keeps them beside your documents; `@payonce/jobs/outbox/service-bus` and
 * `@payonce/jobs/outbox/storage-queue` send them, or a destination of your own does.
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
export { newOutboxMessage } from './messageMoves.ts';
export type { DispatchDecision, SendResult } from './messageMoves.ts';
export type { DueQuery, OutboxStore, RedrivenMessage } from './outboxStore.ts';
export { oldestPendingMs, type SweepCounts, type SweepParts, sweepOutbox } from './sweepOutbox.ts';
