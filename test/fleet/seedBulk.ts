import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { newInvoice } from '../../src/invoice/store/invoiceWrites.ts';
import { queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import type { LocalCloud } from '../support/localCloud.ts';

/** The setting SHARDS of the hosts. */
export const bulkShards = 4;

export interface BulkSize {
  invoices: number;
  messages: number;
  deadLetters: number;
}

const at = '2026-01-01T00:00:00.000Z';

/**
 * Stores what an outage leaves behind: parked invoices, parked outbox messages with one receipt each, and
 * dead letters.
 */
export async function seedBulk(cloud: LocalCloud, size: BulkSize): Promise<void> {
  const container = cloud.cosmosClient.database('payonce').container('invoices');
  const parked = numbered(size.invoices, 'bulk').map((id, n) => {
    const content = {
      id,
      customerId: `cus_${n % 50}`,
      amountMinor: 100 + n,
      currency: 'USD',
      dueAt: at,
      paymentMethod: 'pm_card_visa',
    };
    const { actionableAt: _, ...invoice } = newInvoice(content, {
      shard: shardOf(id, bulkShards),
      at,
      by: 'seed',
    });
    const entry = { at, what: 'parked', by: 'seed', reason: 'the provider was away' };
    return {
      ...invoice,
      status: 'parked',
      reason: entry.reason,
      attempts: 5,
      timeline: [...invoice.timeline, entry],
    };
  });
  const messages = numbered(size.messages, 'message').map((id, n) => {
    const input = { customerId: 'cus_1', amountMinor: 1, currency: 'USD', paymentId: `pi_${n}`, paidAt: at };
    const body = [{ resourceId: `receipt-${n}`, stage: 'receipt', input }];
    const shard = (n % bulkShards).toString(16).padStart(2, '0');
    const content = { id, shard, destination: queues.workItems, body };
    const { nextAttemptAt: _, ...message } = newOutboxMessage(content, Date.parse(at) + n);
    return { ...message, status: 'parked', attempts: 10, lastError: 'the queue was away' };
  });
  await createAll(container, [...parked, ...messages]);
  await deadLetter(cloud, size.deadLetters);
}

function numbered(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${String(n).padStart(6, '0')}`);
}

async function createAll(container: Container, documents: readonly { shard: string }[]): Promise<void> {
  for (const [shard, all] of Map.groupBy(documents, (document) => document.shard)) {
    for (let start = 0; start < all.length; start += 100) {
      const operations = all
        .slice(start, start + 100)
        .map((document): OperationInput => ({ operationType: 'Create', resourceBody: { ...document } }));
      const { result } = await container.items.batch(operations, shard);
      const failed = result?.find(({ statusCode }) => statusCode >= 300);
      if (failed !== undefined) throw new Error(`seeding failed with ${failed.statusCode}`);
    }
  }
}

/** Batches whose invoices are gone: harmless to send again, and the queue counts them. */
async function deadLetter(cloud: LocalCloud, count: number): Promise<void> {
  const client = new ServiceBusClient(cloud.serviceBus);
  try {
    const sender = client.createSender(serviceBusQueues.paymentCommands);
    const receiver = client.createReceiver(serviceBusQueues.paymentCommands);
    for (let start = 0; start < count; start += 50) {
      const some = numbered(count, 'gone').slice(start, start + 50);
      await sender.sendMessages(
        some.map((id) => ({ messageId: id, contentType: 'application/json', body: batch(id) })),
      );
      const received = await receiver.receiveMessages(some.length, { maxWaitTimeInMs: 5_000 });
      await Promise.all(
        received.map((message) =>
          receiver.deadLetterMessage(message, {
            deadLetterReason: 'TooManyDeliveries',
            deadLetterErrorDescription: 'the shard was away',
          }),
        ),
      );
    }
  } finally {
    await client.close();
  }
}

function batch(invoiceId: string) {
  const payment = { keyNumber: 1, keyCreatedAt: new Date().toISOString(), declines: 0, deferrals: 0 };
  const command = {
    invoiceId,
    customerId: 'cus_1',
    amountMinor: 1,
    currency: 'USD',
    paymentMethod: 'pm_card_visa',
    attempt: 1,
    payment: { ...payment, paramsHash: 'gone' },
  };
  return { batchId: randomUUID(), shard: '00', runId: 'gone', commands: [command] };
}
