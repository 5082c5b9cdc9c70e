// Messages must survive an app that waits for its settings for days: real clients, a broker whose clock the test moves.
import { randomUUID } from 'node:crypto';
import { type QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAzurite } from '../packages/local-azure/src/azurite.ts';
import { idleApp } from '../src/idleApp.ts';
import { queues, serviceBusQueues } from '../src/platform/azureNames.ts';
import { queueReturns, type ReturnMessage } from '../src/queueReturns.ts';
import { readQueueConnections, readSchedules } from '../src/settings/readParts.ts';
import { BadSettings } from '../src/settings/settings.ts';
import { type ServiceBusForTests, serviceBusForTests } from './support/serviceBusForTests.ts';
import { virtualClock } from './support/virtualClock.ts';

const bad = new BadSettings(['STRIPE_SECRET_KEY: is missing']);
const minute = 60_000;
const queue = serviceBusQueues.paymentCommands;

describe('payment commands', () => {
  let bus: ServiceBusForTests;
  beforeAll(async () => {
    bus = await serviceBusForTests({
      [queue]: {
        MaxDeliveryCount: 10,
        RequiresDuplicateDetection: true,
        DuplicateDetectionHistoryTimeWindow: 'PT5M',
      },
    });
  });
  afterAll(() => bus[Symbol.asyncDispose]());

  test('come again every two minutes, each time as a first delivery, and none is dead-lettered', async () => {
    const returns = queueReturns(readQueueConnections({ ServiceBus: bus.connectionString }), () =>
      bus.clock.now(),
    );
    const app = idleApp(bad, readSchedules({}), { returns });
    const body = { batchId: 'b1', shard: '0a' };
    await bus.client
      .createSender(queue)
      .sendMessages({ messageId: 'b1', contentType: 'application/json', body });
    const host = bus.client.createReceiver(queue, { maxAutoLockRenewalDurationInMs: 0 });
    const ids = new Set<unknown>();
    // Twice as many rounds as MaxDeliveryCount allows deliveries.
    for (let round = 0; round < 20; round++) {
      const [message, ...others] = await host.receiveMessages(2, { maxWaitTimeInMs: 500 });
      expect(others).toEqual([]);
      expect(message?.body).toEqual(body);
      expect(message?.deliveryCount).toBe(0);
      if (message === undefined) return;
      ids.add(message.messageId);
      const { lockToken, messageId } = message;
      expect(await app.executePayments(message.body, { lockToken, messageId, deliveryCount: 1 })).toEqual({
        putOff: bad.message,
      });
      // Every other time the host dies before it completes the message: still only one copy waits.
      if (round % 2 === 1) {
        await app.executePayments(message.body, { lockToken, messageId, deliveryCount: 2 });
      }
      await host.completeMessage(message);
      expect(await bus.stats(queue)).toMatchObject({ active: 0, scheduled: 1, locked: 0, deadLettered: 0 });
      bus.clock.advance(2 * minute);
    }
    expect(ids.size).toBe(20);
    expect(await bus.stats(queue)).toMatchObject({ active: 1, deadLettered: 0, abandoned: 0 });
    await app.stop();
  });
});

describe('storage queues', () => {
  // An Azurite of its own, because the queues have the names that the app gives them.
  let azurite: Awaited<ReturnType<typeof startAzurite>>;
  beforeAll(async () => {
    azurite = await startAzurite();
  });
  afterAll(() => azurite.stop());
  const service = () => QueueServiceClient.fromConnectionString(azurite.connectionString);
  const returnsOf = () =>
    queueReturns(readQueueConnections({ AzureWebJobsStorage: azurite.connectionString }));
  const wait = (client: QueueClient) => client.getProperties().then((p) => p.approximateMessagesCount);

  test.each([
    ['processWorkItem', queues.workItems],
    ['recordPoison', queues.workItemsPoison],
  ] as const)(
    '%s: the message waits in its queue, invisible, and no delivery counts',
    async (name, queueName) => {
      const client = service().getQueueClient(queueName);
      await client.createIfNotExists();
      const returns = returnsOf();
      const app = idleApp(bad, readSchedules({}), { returns });
      const message = { resourceId: randomUUID(), stage: 'receipt', input: {} };
      await app[name](message, 'id');
      expect(await wait(client)).toBe(1);
      expect((await client.receiveMessages()).receivedMessageItems).toEqual([]);
      await app.stop();
    },
  );

  test('a message is the same after any number of rounds', async () => {
    const client = service().getQueueClient(queues.workItems);
    await client.createIfNotExists();
    const real = returnsOf();
    const delays: number[] = [];
    const workItems: ReturnMessage = async (message, delayMs) => {
      delays.push(delayMs);
      await real.workItems?.(message, 0);
    };
    const clock = virtualClock();
    const app = idleApp(bad, readSchedules({}), { clock, returns: { ...real, workItems } });
    const message = [{ resourceId: 'i-1', stage: 'receipt', input: { text: 'é"' } }];
    await real.workItems?.(message, 0);
    // Twice maxDequeueCount of host.json.
    for (let round = 0; round < 10; round++) {
      const [received, ...others] = (await client.receiveMessages({ numberOfMessages: 2 }))
        .receivedMessageItems;
      expect(others).toEqual([]);
      if (received === undefined) throw new Error('the message is gone');
      expect(received.dequeueCount).toBe(1);
      expect(received.expiresOn.getFullYear()).toBeGreaterThan(9000);
      const parsed: unknown = JSON.parse(Buffer.from(received.messageText, 'base64').toString());
      expect(parsed).toEqual(message);
      expect(await app.processWorkItem(parsed)).toBe('putOff');
      // The host was not told that it is done, and has it again: one copy is enough.
      expect(await app.processWorkItem(parsed)).toBe('putOff');
      await clock.advance(2 * minute);
      await client.deleteMessage(received.messageId, received.popReceipt);
    }
    expect(delays).toEqual(Array.from({ length: 10 }, () => 2 * minute));
    await app.stop();
  });
});

test('a message that its queue does not take back fails: its next delivery tries again', async () => {
  const away: ReturnMessage = () => Promise.reject(new Error('the queue is away'));
  const app = idleApp(bad, readSchedules({}), { returns: { commands: away, close: async () => {} } });
  await expect(app.executePayments({})).rejects.toThrow('the queue is away');
});

test('no way back where the connection itself is missing or wrong', async () => {
  const wrong = { ServiceBus: 'secret', AzureWebJobsStorage: '' };
  expect(Object.keys(queueReturns(readQueueConnections(wrong)))).toEqual(['close']);
});
