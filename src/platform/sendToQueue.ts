import type { QueueClient } from '@azure/storage-queue';

/** A storage queue that messages are sent to. */
export type QueueSender = Pick<QueueClient, 'sendMessage'>;

/**
 * How long one send may take with its repetitions, in milliseconds. Without a bound it never ends on a socket that swallows
 * everything: the SDK's own time-out is for the service, not for the way there (measured: pending after 75 s).
 */
const sendTimeoutMs = 10_000;

/**
 * Sends a text to a storage queue, as base64: that is what the Functions host expects unless host.json says otherwise.
 * Nobody sees it before `delayMs` have passed (to the second).
 *
 * @throws {RestError} the queue refused it
 * @throws {AbortError} no answer within `timeoutMs`; it may have arrived
 */
export async function sendToQueue(
  queue: QueueSender,
  text: string,
  { delayMs = 0, timeoutMs = sendTimeoutMs }: { delayMs?: number; timeoutMs?: number } = {},
): Promise<void> {
  await queue.sendMessage(Buffer.from(text).toString('base64'), {
    // Without it a message is deleted after 7 days
    // (https://learn.microsoft.com/rest/api/storageservices/put-message): a trigger that is off for a week must not lose
    // receipts.
    messageTimeToLive: -1,
    visibilityTimeout: Math.round(delayMs / 1000),
    abortSignal: AbortSignal.timeout(timeoutMs),
  });
}
