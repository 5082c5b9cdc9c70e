import type { QueueClient } from '@azure/storage-queue';
import { RestError } from '@azure/storage-queue';
import type { HttpExchange } from './describeRequest.ts';
import type { HttpAnswer } from './httpTap.ts';

/** The storage queue messages that one host holds, inferred from the traffic through its tap. */
export interface TakenMessages {
  answered: (exchange: HttpExchange, answer: HttpAnswer) => void;
  /**
   * Makes them visible at once. The Functions host takes a message for ten minutes, and after its death the message
   * stays invisible for the rest of them; a trial does this instead of waiting. Resolves to the number of messages.
   */
  giveBack(queue: QueueClient): Promise<number>;
}

export function watchTakenMessages(): TakenMessages {
  const receipts = new Map<string, string>();
  return {
    answered({ method, path }, { status, body }) {
      const { pathname } = new URL(path, 'http://x');
      const [, , queue = '', , message] = pathname.split('/');
      if (queue !== 'work-items' || status >= 300) return;
      if (method === 'GET') {
        const text = body.toString();
        for (const [, id = '', receipt = ''] of text.matchAll(
          /<MessageId>([^<]+)<.*?<PopReceipt>([^<]+)</gs,
        )) {
          receipts.set(id, receipt);
        }
      } else if (message !== undefined) receipts.delete(message);
    },
    async giveBack(queue) {
      const held = [...receipts];
      receipts.clear();
      for (const [id, receipt] of held) {
        await queue.updateMessage(id, receipt, undefined, 0).catch((error: unknown) => {
          // Already deleted or put back by a request whose answer never came.
          if (!(error instanceof RestError) || error.statusCode === undefined) throw error;
        });
      }
      return held.length;
    },
  };
}
