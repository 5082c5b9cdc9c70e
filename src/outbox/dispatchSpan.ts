import { inSpan } from '../platform/tracing.ts';
import type { DispatchDecision, OutboxMessage } from './outboxMessage.ts';

/** Dispatches a message in a span of the trace in which it was created, however much later and in whatever process. */
export function inDispatchSpan(
  { id, destination, attempts, traceparent: parent }: OutboxMessage,
  dispatch: () => Promise<DispatchDecision>,
): Promise<DispatchDecision> {
  const attributes = { 'outbox.message': id, 'outbox.destination': destination, 'outbox.attempts': attempts };
  return inSpan('dispatch message', { kind: 'producer', attributes, parent }, dispatch, ({ kind }) => ({
    attributes: { 'outbox.result': kind },
    failed: kind === 'retry' || kind === 'parked' ? kind : undefined,
  }));
}
