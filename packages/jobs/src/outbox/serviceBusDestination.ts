import { isServiceBusError, type ServiceBusMessage, type ServiceBusSender } from '@azure/service-bus';
import { errorText } from '@payonce/leases/error-text';
import { traceProperties } from '../tracing.ts';
import type { SendMessages } from './dispatcher.ts';
import type { SendResult } from './messageMoves.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/** Time-out of a request with its retries (ms): opening a connection that swallows everything would take 60 s (measured). */
const requestTimeoutMs = 15_000;

/** Sends each outbox message as one Service Bus message with the same id, for duplicate detection; many in one request. */
export function serviceBusDestination(
  sender: Pick<ServiceBusSender, 'createMessageBatch' | 'sendMessages'>,
  { timeoutMs = requestTimeoutMs }: { timeoutMs?: number } = {},
): SendMessages {
  return async (messages) => {
    const results = new Map<string, SendResult>();
    let waiting: OutboxMessage[] = [...messages];
    let alone = false;
    while (waiting.length > 0) {
      try {
        const batch = await sender.createMessageBatch({ abortSignal: AbortSignal.timeout(timeoutMs) });
        const fits: OutboxMessage[] = [];
        for (const message of alone ? waiting.slice(0, 1) : waiting) {
          if (!batch.tryAddMessage(serviceBusMessage(message))) break;
          fits.push(message);
        }
        const [first] = waiting;
        if (fits.length === 0 && first !== undefined) {
          const error = 'larger than Service Bus takes (MessageSizeExceeded)';
          results.set(first.id, { kind: 'refused', error });
          waiting = waiting.slice(1);
          continue;
        }
        const outcome = await sender
          .sendMessages(batch, { abortSignal: AbortSignal.timeout(timeoutMs) })
          .then((): SendResult => ({ kind: 'sent' }), resultOf);
        if (outcome.kind === 'refused' && fits.length > 1) {
          // Which of them it is that the broker rejects shows only if each goes alone.
          alone = true;
          continue;
        }
        for (const { id } of fits) results.set(id, outcome);
        waiting = waiting.slice(fits.length);
        if (outcome.kind === 'failed') leave(outcome);
      } catch (error) {
        leave({ kind: 'failed', error: errorText(error) });
      }
    }
    return messages.map(({ id }) => results.get(id) ?? { kind: 'failed', error: 'not sent' });

    /** The broker is away, so the rest need not be tried now. */
    function leave(failure: SendResult): void {
      for (const { id } of waiting) results.set(id, failure);
      waiting = [];
    }
  };
}

function serviceBusMessage({ id, body, traceparent }: OutboxMessage): ServiceBusMessage {
  const traced = traceparent === undefined ? {} : { applicationProperties: traceProperties(traceparent) };
  return { messageId: id, contentType: 'application/json', body, ...traced };
}

/** Only a message that is too large is the message's own fault. A queue that is full, closed or missing is an outage. */
function resultOf(error: unknown): SendResult {
  const final = isServiceBusError(error) && error.code === 'MessageSizeExceeded';
  return { kind: final ? 'refused' : 'failed', error: errorText(error) };
}
