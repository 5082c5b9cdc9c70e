import type { QueueClient } from '@azure/storage-queue';
import { unlessStatus } from './unlessStatus.ts';

/** A received queue message, kept invisible by renewals until deleted or put back. */
export interface HeldMessage {
  messageText: string;
  delete(): Promise<void>;
  /** Makes it visible to others after `seconds`. */
  putBack(seconds: number): Promise<void>;
  /** Stops renewing; it becomes visible when its visibility timeout ends. */
  letGo(): void;
}

/** Receives up to `count` messages. @param visibility milliseconds, rounded up to whole seconds */
export async function receive(queue: QueueClient, count: number, visibility: number): Promise<HeldMessage[]> {
  const seconds = Math.max(1, Math.ceil(visibility / 1000));
  const { receivedMessageItems } = await queue.receiveMessages({
    numberOfMessages: count,
    visibilityTimeout: seconds,
  });
  return receivedMessageItems.map(({ messageId, popReceipt, messageText }) => {
    let receipt = popReceipt;
    let renewing: Promise<void> = Promise.resolve();
    const renew = async () => {
      try {
        const updated = await queue.updateMessage(messageId, receipt, undefined, seconds);
        receipt = updated.popReceipt ?? receipt;
      } catch {
        // Another host has it by now, or the queue is unreachable. The receiver deduplicates what came of it.
      }
    };
    const timer = setInterval(() => {
      renewing = renewing.then(renew);
    }, seconds * 500);
    timer.unref();
    const end = async () => {
      clearInterval(timer);
      await renewing;
    };
    return {
      messageText,
      async delete() {
        await end();
        await queue.deleteMessage(messageId, receipt).catch(unlessStatus(400, 404));
      },
      async putBack(after) {
        await end();
        await queue.updateMessage(messageId, receipt, undefined, after).catch(unlessStatus(400, 404));
      },
      letGo: () => clearInterval(timer),
    };
  });
}
