import { type QueueClient, RestError } from '@azure/storage-queue';
import pLimit from 'p-limit';
import { errorText } from '../platform/errorText.ts';
import type { SendMessages } from './dispatcher.ts';

const concurrentSends = 16;

/**
 * Sends each element of a message's body as one Storage Queue message. A storage queue has no batch, and no duplicate
 * detection: when one element fails the whole outbox message goes again, and the effect record of a work item makes the
 * repetition harmless.
 */
export function storageQueueDestination(queue: Pick<QueueClient, 'sendMessage'>): SendMessages {
  const limit = pLimit(concurrentSends);
  return (messages, mayGo = () => true) =>
    Promise.all(
      messages.map(async (message) => {
        const { body } = message;
        const items = Array.isArray(body) ? body : [body];
        if (!mayGo(message)) return { kind: 'withheld' as const };
        try {
          await Promise.all(items.map((item) => limit(() => queue.sendMessage(encode(item)))));
          return { kind: 'sent' as const };
        } catch (error) {
          const kind = isTooLarge(error) ? ('refused' as const) : ('failed' as const);
          return { kind, error: errorText(error) };
        }
      }),
    );
}

/** A queue message holds 64 KB (https://learn.microsoft.com/rest/api/storageservices/put-message). */
function isTooLarge(error: unknown): boolean {
  return error instanceof RestError && (error.statusCode === 413 || error.code === 'RequestBodyTooLarge');
}

/** The Functions host expects base64 unless host.json says otherwise. */
function encode(item: unknown): string {
  return Buffer.from(JSON.stringify(item)).toString('base64');
}
