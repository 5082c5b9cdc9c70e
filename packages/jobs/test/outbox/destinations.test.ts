import { type AddressInfo, createServer } from 'node:net';
import { ServiceBusClient, ServiceBusError } from '@azure/service-bus';
import { type QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';
import { throughBlackHole } from '../../../../test/support/throughBlackHole.ts';
import { newOutboxMessage } from '../../src/outbox/messageMoves.ts';
import type { OutboxMessage } from '../../src/outbox/outboxMessage.ts';
import { serviceBusDestination } from '../../src/outbox/serviceBusDestination.ts';
import { storageQueueDestination } from '../../src/outbox/storageQueueDestination.ts';

function message(id: string, body: OutboxMessage['body'], destination: OutboxMessage['destination']) {
  return newOutboxMessage({ id, shard: '00', destination, body }, 0);
}

describe('Service Bus', () => {
  let bus: ServiceBusForTests;
  beforeAll(async () => {
    bus = await serviceBusForTests(
      Object.fromEntries(
        ['plain', 'large', 'many', 'rejected', 'away'].map((name) => [
          name,
          { RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: 'PT10M' },
        ]),
      ),
      { timeoutInMs: 1_500 },
    );
  });
  afterAll(() => bus[Symbol.asyncDispose]());

  const command = (id: string, body: OutboxMessage['body']) => message(id, body, 'payment-commands');

  async function received(queue: string, count: number) {
    const receiver = bus.client.createReceiver(queue, { receiveMode: 'receiveAndDelete' });
    const messages = await receiver.receiveMessages(count, { maxWaitTimeInMs: 2_000 });
    await receiver.close();
    return messages;
  }

  test('one message each, under the outbox message’s id; a second send is dropped as a duplicate', async () => {
    const send = serviceBusDestination(bus.client.createSender('plain'));
    const messages = [command('a', { n: 1 }), command('b', { n: 2 })];
    expect(await send(messages)).toEqual([{ kind: 'sent' }, { kind: 'sent' }]);
    expect(await send(messages)).toEqual([{ kind: 'sent' }, { kind: 'sent' }]);
    expect(await bus.stats('plain')).toMatchObject({ active: 2, duplicatesDropped: 2 });
    const got = await received('plain', 2);
    expect(got.map(({ messageId, body }) => [messageId, body])).toEqual([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ]);
  });

  test('a message too large for Service Bus is refused alone, and the others are sent', async () => {
    const send = serviceBusDestination(bus.client.createSender('large'));
    const results = await send([
      command('small', 'x'),
      command('huge', 'x'.repeat(300 * 1024)),
      command('other', 'x'),
    ]);
    expect(results).toEqual([
      { kind: 'sent' },
      { kind: 'refused', error: expect.stringContaining('larger than Service Bus takes') },
      { kind: 'sent' },
    ]);
    expect((await received('large', 2)).map(({ messageId }) => messageId)).toEqual(['small', 'other']);
  });

  test('a batch that the broker finds too large: each message is sent alone, and only the one that is rejected is refused', async () => {
    const sender = bus.client.createSender('rejected');
    const sizes: number[] = [];
    const rejecting = {
      createMessageBatch: () => sender.createMessageBatch(),
      async sendMessages(batch: Parameters<typeof sender.sendMessages>[0]) {
        const count = 'count' in batch ? batch.count : 1;
        sizes.push(count);
        if (count > 1 || sizes.length === 3) throw new ServiceBusError('too large', 'MessageSizeExceeded');
        await sender.sendMessages(batch);
      },
    };
    const send = serviceBusDestination(rejecting);
    expect(await send([command('a', 1), command('b', 2), command('c', 3)])).toEqual([
      { kind: 'sent' },
      { kind: 'refused', error: expect.stringContaining('too large') },
      { kind: 'sent' },
    ]);
    expect(sizes).toEqual([3, 1, 1, 1]);
  });

  test.each([
    'QuotaExceeded',
    'MessagingEntityNotFound',
    'MessagingEntityDisabled',
    'UnauthorizedAccess',
  ] as const)('a queue that takes nothing (%s) rejects no message', async (code) => {
    const sender = bus.client.createSender('plain');
    const send = serviceBusDestination({
      createMessageBatch: () => sender.createMessageBatch(),
      sendMessages: () => Promise.reject(new ServiceBusError('busy', code)),
    });
    expect(await send([command('a', 1)])).toEqual([{ kind: 'failed', error: expect.any(String) }]);
  });

  test('messages too large for one request are split over several', async () => {
    const send = serviceBusDestination(bus.client.createSender('many'));
    const messages = Array.from({ length: 5 }, (_, n) => command(`m${n}`, 'x'.repeat(100 * 1024)));
    expect(await send(messages)).toEqual(Array(5).fill({ kind: 'sent' }));
    expect(await bus.stats('many')).toMatchObject({ active: 5 });
  });

  test('a broker that refuses leaves every message of the request to be retried', async () => {
    const sender = bus.client.createSender('away');
    const send = serviceBusDestination(sender);
    await bus.setFault({ kind: 'refuse', operation: 'send', queue: 'away' });
    expect(await send([command('a', 1), command('b', 2)])).toEqual([
      { kind: 'failed', error: expect.any(String) },
      { kind: 'failed', error: expect.any(String) },
    ]);
    expect(await send([command('a', 1)])).toEqual([{ kind: 'sent' }]);
  });

  test('a connection that swallows everything does not hold the messages up', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const address = bus.connectionString.replace(/127\.0\.0\.1:\d+|localhost:\d+/, `127.0.0.1:${port}`);
    const client = new ServiceBusClient(address);
    const send = serviceBusDestination(client.createSender('plain'), { timeoutMs: 300 });
    expect(await send([command('a', 1)])).toEqual([{ kind: 'failed', error: expect.any(String) }]);
    silent.close();
  });
});

describe('Storage Queue', () => {
  let queue: QueueClient;
  beforeAll(async () => {
    queue = QueueServiceClient.fromConnectionString(inject('azurite')).getQueueClient(`outbox-${Date.now()}`);
    await queue.create();
  });

  async function received(): Promise<unknown[]> {
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    for (const { messageId, popReceipt } of receivedMessageItems)
      await queue.deleteMessage(messageId, popReceipt);
    return receivedMessageItems.map(({ messageText }) =>
      JSON.parse(Buffer.from(messageText, 'base64').toString()),
    );
  }

  test('each element of the body becomes its own message, in base64', async () => {
    const send = storageQueueDestination(queue);
    expect(await send([message('a', [{ n: 1 }, { n: 2 }], 'work-items')])).toEqual([{ kind: 'sent' }]);
    expect(await received()).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }]));
  });

  test('a queued message never expires', async () => {
    await storageQueueDestination(queue)([message('a', [{ n: 1 }], 'work-items')]);
    const { receivedMessageItems } = await queue.receiveMessages();
    // The service's value for a message that never expires.
    expect(receivedMessageItems.map(({ expiresOn }) => expiresOn.getUTCFullYear())).toEqual([9999]);
    for (const { messageId, popReceipt } of receivedMessageItems)
      await queue.deleteMessage(messageId, popReceipt);
  });

  test('an element the queue can never accept is refused, and the other messages are sent', async () => {
    const send = storageQueueDestination(queue);
    const results = await send([
      message('a', [{ text: 'x'.repeat(70_000) }], 'work-items'),
      message('b', [{ n: 3 }], 'work-items'),
    ]);
    expect(results).toEqual([{ kind: 'refused', error: expect.any(String) }, { kind: 'sent' }]);
    expect(await received()).toEqual([{ n: 3 }]);
  });

  test('a queue outage leaves the message to be retried', async () => {
    const gone = QueueServiceClient.fromConnectionString(inject('azurite')).getQueueClient('no-such-queue');
    const results = await storageQueueDestination(gone)([message('a', [{ n: 1 }], 'work-items')]);
    expect(results).toEqual([{ kind: 'failed', error: expect.any(String) }]);
  });

  test('a connection that swallows everything costs one timeout, and the next messages go through', async () => {
    await using proxy = await throughBlackHole(inject('azurite'));
    const behind = QueueServiceClient.fromConnectionString(proxy.connectionString).getQueueClient(queue.name);
    const send = storageQueueDestination(behind, { timeoutMs: 1_000 });
    const many = Array.from({ length: 100 }, (_, n) => message(`m${n}`, [{ n }, { n }], 'work-items'));
    proxy.swallow(true);
    // In calls of their own, as the commits come that order them.
    const results = (await Promise.all(many.map((one) => send([one])))).flat();
    expect(results).toEqual(many.map(() => ({ kind: 'failed', error: 'the queue did not take it in time' })));
    // One send for each of the 16 that run in parallel: the others were not tried.
    expect(proxy.swallowed()).toBe(16);
    proxy.swallow(false);
    expect(await send([message('after', [{ n: 'after' }], 'work-items')])).toEqual([{ kind: 'sent' }]);
    expect(await received()).toEqual([{ n: 'after' }]);
  });
});
