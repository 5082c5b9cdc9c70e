import { type QueueServiceClient, RestError } from '@azure/storage-queue';
import { queues as queueNames } from '../../src/platform/azureNames.ts';
import type { HttpExchange } from './describeRequest.ts';
import type { HttpAnswer } from './httpTap.ts';

/** The storage queue messages that one host holds, inferred from the traffic through its tap. */
export interface TakenMessages {
  answered: (exchange: HttpExchange, answer: HttpAnswer) => void;
  /**
   * Makes them visible at once. The Functions host takes a message for ten minutes, and after its death the message
   * stays invisible for the rest of them; a trial does this instead of waiting. Resolves to the number of messages.
   */
  giveBack(queues: QueueServiceClient): Promise<number>;
}

/** @param watched whether the messages of a queue are watched; absent: work items only */
export function watchTakenMessages(
  watched: (queue: string) => boolean = (queue) => queue === queueNames.workItems,
): TakenMessages {
  const taken = new Map<string, { queue: string; receipt: string }>();
  return {
    answered({ method, path }, { status, body }) {
      const { pathname } = new URL(path, 'http://x');
      const [, , queue = '', , message] = pathname.split('/');
      if (!watched(queue) || status >= 300) return;
      if (method === 'GET') {
        const text = body.toString();
        for (const [, id = '', receipt = ''] of text.matchAll(
          /<MessageId>([^<]+)<.*?<PopReceipt>([^<]+)</gs,
        )) {
          taken.set(id, { queue, receipt });
        }
      } else if (message !== undefined) taken.delete(message);
    },
    async giveBack(queues) {
      const held = [...taken];
      taken.clear();
      for (const [id, { queue, receipt }] of held) {
        await queues
          .getQueueClient(queue)
          .updateMessage(id, receipt, undefined, 0)
          .catch((error: unknown) => {
            // Already deleted or put back by a request whose answer never came.
            if (!(error instanceof RestError) || error.statusCode === undefined) throw error;
          });
      }
      return held.length;
    },
  };
}
