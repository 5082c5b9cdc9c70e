// The real app on the local cloud, without a sweeper: whatever stores a message also sends it.
import { ServiceBusClient } from '@azure/service-bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { itemsOf } from '../../packages/jobs/src/workItems/workItem.ts';
import { type App, createApp } from '../../src/app.ts';
import { queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { aRequest } from '../support/opsForTests.ts';
import { until } from '../support/until.ts';

const stack = new AsyncDisposableStack();
let cloud: LocalCloud;
let app: App;
beforeAll(async () => {
  cloud = stack.use(await startLocalCloud());
  app = createApp(readSettings(settingsFor(cloud)));
  stack.defer(() => app.stop());
}, 60_000);
afterAll(() => stack.disposeAsync());

const itemSchema = z.object({ stage: z.string(), resourceId: z.string() });

/** The work item of this stage for this invoice, as soon as it is queued. */
async function queued(stage: string, invoiceId: string): Promise<unknown> {
  const queue = cloud.queues.getQueueClient(queues.workItems);
  const found = await until(
    async () => {
      const { receivedMessageItems } = await queue.receiveMessages({
        numberOfMessages: 32,
        visibilityTimeout: 1,
      });
      return receivedMessageItems
        .map(({ messageText }) => JSON.parse(Buffer.from(messageText, 'base64').toString()) as unknown)
        .flatMap((message) => itemsOf(message) ?? [message])
        .find((item) => {
          const { data } = itemSchema.safeParse(item);
          return data?.stage === stage && data.resourceId === invoiceId;
        });
    },
    (item) => item !== undefined,
    { withinMs: 5_000 },
  );
  return found;
}

async function pay(id: string, paymentMethod = 'pm_card_visa'): Promise<void> {
  const row = {
    id,
    customerId: 'c',
    amountMinor: 500,
    currency: 'USD',
    dueAt: '2026-01-01T00:00:00Z',
    paymentMethod,
  };
  await app.ops.importInvoices(aRequest({ method: 'POST', body: [row] }));
  await app.processInvoices();
  const bus = new ServiceBusClient(cloud.serviceBus);
  const receiver = bus.createReceiver(serviceBusQueues.paymentCommands, { receiveMode: 'receiveAndDelete' });
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
  await app.executePayments(message?.body);
  await bus.close();
}

test('a payment’s receipt, and the refund of the payment', async () => {
  await pay('paid');
  expect(await queued('receipt', 'paid')).toBeDefined();
  const refund = aRequest({
    method: 'POST',
    params: { id: 'paid' },
    headers: { 'idempotency-key': 'r1' },
    body: { reason: 'returned' },
  });
  expect((await app.ops.refundInvoice(refund)).status).toBe(202);
  expect(await queued('refund', 'paid')).toBeDefined();
});

test('the receipt of a bank debit that has succeeded', async () => {
  await pay('debit', 'pm_usBankAccount_success');
  await fetch(`${cloud.payments}/_local/clock`, {
    method: 'POST',
    body: JSON.stringify({ advanceMs: 5 * 86_400_000 }),
  });
  await makeDue('debit');
  expect(await app.trackPayments()).toMatchObject({ changed: 1 });
  expect(await queued('receipt', 'debit')).toBeDefined();
});

/** Lets the app ask about a payment in progress now. */
async function makeDue(id: string): Promise<void> {
  const container = cloud.cosmosClient.database(databaseName).container(containers.invoices.name);
  const { resources } = await container.items
    .query<{ shard: string }>(`SELECT c.shard FROM c WHERE c.id = '${id}'`)
    .fetchAll();
  const set = { op: 'set' as const, path: '/checkAt', value: '2026-01-01T00:00:00.000Z' };
  await container.item(id, resources[0]?.shard).patch([set]);
}
