import { type QueueClient, RestError } from '@azure/storage-queue';
import { errorText } from '@payonce/leases/error-text';
import pLimit from 'p-limit';
import type { SendMessages } from './dispatcher.ts';

const concurrentSends = 16;

/**
 * Sends the elements of a body: each as one Storage Queue message, or as `messagesOf` puts them together with the message's
 * traceparent, for which a queue message has no place of its own. If one send fails, the whole outbox message is sent again: a
 * storage queue has neither batches nor duplicate detection, and recorded effects make that harmless. After the first send
 * without an answer within `timeoutMs` those that wait for their turn are not tried.
 */
export function storageQueueDestination(
  queue: QueueSender,
  {
    messagesOf = (elements) => elements,
    ...options
  }: {
    timeoutMs?: number;
    messagesOf?: (elements: readonly unknown[], traceparent?: string) => readonly unknown[];
  } = {},
): SendMessages {
  const limit = pLimit(concurrentSends);
  let current = new AbortController();
  return (messages) => {
    const dead = current;
    return Promise.all(
      messages.map(async (message) => {
        const { body, traceparent } = message;
        const queued = messagesOf(Array.isArray(body) ? body : [body], traceparent);
        try {
          await Promise.all(queued.map((one) => limit(() => send(one, dead))));
          return { kind: 'sent' as const };
        } catch (error) {
          const kind = isTooLarge(error) ? ('refused' as const) : ('failed' as const);
          return { kind, error: errorText(error) };
        }
      }),
    );
  };

  async function send(content: unknown, dead: AbortController): Promise<void> {
    dead.signal.throwIfAborted();
    try {
      await sendToQueue(queue, JSON.stringify(content), options);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
      const silent = new Error('the queue did not take it in time', { cause: error });
      dead.abort(silent);
      if (current === dead) current = new AbortController();
      throw silent;
    }
  }
}

/**
 * Only a message that is too large is the message's own fault. A queue that is missing or denies access is an outage.
 * It holds 64 KB (https://learn.microsoft.com/rest/api/storageservices/put-message).
 */
function isTooLarge(error: unknown): boolean {
  return error instanceof RestError && (error.statusCode === 413 || error.code === 'RequestBodyTooLarge');
}

export type QueueSender = Pick<QueueClient, 'sendMessage'>;

/** Limit for one send with its retries (ms). The SDK's own does not bound the network: still pending after 75 s (measured). */
const sendTimeoutMs = 10_000;

/**
 * Sends a text to a storage queue, as base64: the queue's API carries messages as XML, which cannot hold every character of a
 * JSON text (https://learn.microsoft.com/rest/api/storageservices/put-message). The message becomes visible after `delayMs`,
 * rounded up to the second. @throws {RestError} the queue refused it; {AbortError} no answer in `timeoutMs`: it may have arrived
 */
export async function sendToQueue(
  queue: QueueSender,
  text: string,
  { delayMs = 0, timeoutMs = sendTimeoutMs }: { delayMs?: number; timeoutMs?: number } = {},
): Promise<void> {
  await queue.sendMessage(Buffer.from(text).toString('base64'), {
    // Never expires. By default a message is deleted after 7 days
    // (https://learn.microsoft.com/rest/api/storageservices/put-message), and a trigger that is off for a week must not
    // lose receipts.
    messageTimeToLive: -1,
    // In whole seconds, and never too early: a sender may count on that (packages/jobs/src/workItems/sendOnce.ts).
    visibilityTimeout: Math.ceil(delayMs / 1000),
    abortSignal: AbortSignal.timeout(timeoutMs),
  });
}
