import { sendToQueue } from '@payonce/jobs/outbox/storage-queue';
import { queueServiceClient, serviceBusClient } from './platform/azureClients.ts';
import { queues, serviceBusQueues } from './platform/azureNames.ts';
import type { Connections } from './platform/connections.ts';
import { sendAgain } from './platform/serviceBusHeldMessages.ts';

/** Sends a message back to the queue it came from, to appear there after `delayMs`. Rejects if the queue does not take it. */
export type ReturnMessage = (message: unknown, delayMs: number, messageId?: string) => Promise<void>;

/** The way back to each queue. There is none where the settings of its connection are missing or wrong. */
export interface QueueReturns {
  commands?: ReturnMessage;
  workItems?: ReturnMessage;
  poison?: ReturnMessage;
  close(): Promise<void>;
}

/** The way back for messages that nothing can work on yet. It needs no setting but the connections of the queues. */
export function queueReturns(
  connections: { [name in 'storage' | 'serviceBus' | 'clientId']: Connections[name] | undefined },
  now: () => number = Date.now,
): QueueReturns {
  const { storage, serviceBus, clientId } = connections;
  const bus = serviceBus && serviceBusClient({ serviceBus, clientId });
  const sender = bus?.createSender(serviceBusQueues.paymentCommands);
  const storageQueues = storage && queueServiceClient({ storage, clientId });
  const toQueue = (name: string): ReturnMessage | undefined => {
    const queue = storageQueues?.getQueueClient(name);
    return queue && ((message, delayMs) => sendToQueue(queue, JSON.stringify(message), { delayMs }));
  };
  const workItems = toQueue(queues.workItems);
  const poison = toQueue(queues.workItemsPoison);
  return {
    ...(sender && {
      commands: (message, delayMs, messageId) => sendAgain(sender, message, delayMs, messageId, { now }),
    }),
    ...(workItems && { workItems }),
    ...(poison && { poison }),
    close: async () => bus?.close(),
  };
}
