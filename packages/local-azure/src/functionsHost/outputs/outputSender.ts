import { ServiceBusClient, type ServiceBusSender } from '@azure/service-bus';
import { type QueueClient, QueueServiceClient } from '@azure/storage-queue';
import type { InvocationResponse } from '../coreTypes.ts';
import type { CosmosWriter } from './cosmosOutput.ts';
import type { OutputBinding, QueueOutput } from './outputBinding.ts';
import { outputMessages } from './outputMessages.ts';

/** Sends what functions return through their output bindings. */
export interface OutputSender {
  /** Resolves once everything is sent. A failure fails the invocation, which may have sent a part. */
  send(outputs: readonly OutputBinding[], response: InvocationResponse): Promise<void>;
  close(): Promise<void>;
}

/** @param encoding of messages in storage queues, from host.json */
export function createOutputSender(encoding: 'base64' | 'none'): OutputSender {
  const clients = new Map<string, ServiceBusClient>();
  const senders = new Map<string, ServiceBusSender>();
  const queues = new Map<string, Promise<QueueClient>>();

  let cosmos: Promise<CosmosWriter> | undefined;

  /** Loaded by the first document: whoever writes none need not have the SDK of Cosmos. */
  function cosmosWriter(): Promise<CosmosWriter> {
    cosmos ??= import('./cosmosOutput.ts').then(({ createCosmosWriter }) => createCosmosWriter());
    return cosmos;
  }

  function senderOf({ connection, queueName }: QueueOutput): ServiceBusSender {
    const client = clients.get(connection) ?? new ServiceBusClient(connection);
    clients.set(connection, client);
    const key = `${connection}\n${queueName}`;
    const sender = senders.get(key) ?? client.createSender(queueName);
    senders.set(key, sender);
    return sender;
  }

  /** As on the real host, a storage queue is created with its first message. */
  function queueOf({ connection, queueName }: QueueOutput): Promise<QueueClient> {
    const key = `${connection}\n${queueName}`;
    const known = queues.get(key);
    if (known !== undefined) return known;
    const opened = openQueue(connection, queueName);
    queues.set(key, opened);
    opened.catch(() => queues.delete(key));
    return opened;
  }

  return {
    async send(outputs, { returnValue, outputData = [] }) {
      for (const output of outputs) {
        const data =
          output.name === '$return' ? returnValue : outputData.find(({ name }) => name === output.name)?.data;
        if (output.kind === 'cosmos') {
          if (data !== undefined && data !== null) await (await cosmosWriter()).write(output, data);
          continue;
        }
        const messages = outputMessages(data);
        if (messages.length === 0) continue;
        if (output.kind === 'storageQueue') {
          const queue = await queueOf(output);
          for (const { bytes } of messages)
            await queue.sendMessage(bytes.toString(encoding === 'base64' ? 'base64' : 'utf8'));
        } else {
          const bodies = messages.map(({ bytes, contentType }) => ({ body: bytes, contentType }));
          await senderOf(output).sendMessages(bodies);
        }
      }
    },
    async close() {
      (await cosmos)?.close();
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}

async function openQueue(connection: string, name: string): Promise<QueueClient> {
  const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient(name);
  await queue.createIfNotExists();
  return queue;
}
