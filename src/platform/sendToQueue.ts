import type { QueueClient } from '@azure/storage-queue';

export type QueueSender = Pick<QueueClient, 'sendMessage'>;

/**
 * Limit for one send including its retries, in milliseconds. Without it, a send over a socket that swallows everything
 * never ends: the SDK's own timeout bounds the service, not the network (measured: still pending after 75 s).
 */
const sendTimeoutMs = 10_000;

/**
 * Sends a text to a storage queue, as base64, which is what the Functions host expects unless host.json says otherwise.
 * The message becomes visible after `delayMs`, rounded to the second.
 *
 * @throws {RestError} the queue refused the message
 * @throws {AbortError} no answer within `timeoutMs`: the message may have arrived
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
    visibilityTimeout: Math.round(delayMs / 1000),
    abortSignal: AbortSignal.timeout(timeoutMs),
  });
}
