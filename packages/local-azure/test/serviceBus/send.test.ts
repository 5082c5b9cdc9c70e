import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  bus = await serviceBusForTests({
    plain: {},
    batch: {},
    large: {},
    order: {},
    resend: {},
    duplicates: { RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: 'PT10M' },
  });
});
afterAll(() => bus[Symbol.asyncDispose]());

const receive = (queue: string, count: number) =>
  bus.client
    .createReceiver(queue, { receiveMode: 'receiveAndDelete' })
    .receiveMessages(count, { maxWaitTimeInMs: 5000 });

test('a message arrives as it was sent', async () => {
  const message = {
    body: { amount: 1999, list: [1, 'two', null] },
    messageId: 'm-1',
    correlationId: 'c-1',
    subject: 'payment',
    contentType: 'application/json',
    replyTo: 'answers',
    to: 'somewhere',
    partitionKey: 'p-1',
    applicationProperties: { text: 'ü', number: 1.5, yes: true, at: new Date(0) },
  };
  await bus.client.createSender('plain').sendMessages(message);
  const [received] = await receive('plain', 1);
  expect(received).toMatchObject({
    ...message,
    applicationProperties: { ...message.applicationProperties, at: 0 },
    deliveryCount: 0,
    state: 'active',
  });
  expect(received?.enqueuedTimeUtc?.getTime()).toBe(bus.clock.now());
});

test('bytes stay bytes', async () => {
  await bus.client.createSender('plain').sendMessages({ body: Buffer.from([0, 1, 255]) });
  const [received] = await receive('plain', 1);
  expect(received?.body).toEqual(Buffer.from([0, 1, 255]));
});

test('a batch arrives whole and in order; each message without an id gets one', async () => {
  const sender = bus.client.createSender('batch');
  const batch = await sender.createMessageBatch();
  expect(batch.maxSizeInBytes).toBe(256 * 1024);
  for (let n = 0; n < 50; n++) expect(batch.tryAddMessage({ body: n })).toBe(true);
  await sender.sendMessages(batch);
  const received = await receive('batch', 50);
  expect(received.map(({ body }) => body)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(50);
});

test('250 KB is accepted; over 256 KB is refused and nothing is stored', async () => {
  const sender = bus.client.createSender('large');
  await sender.sendMessages({ body: Buffer.alloc(250 * 1024, 7) });
  const [received] = await receive('large', 1);
  expect(received?.body).toEqual(Buffer.alloc(250 * 1024, 7));
  await expect(sender.sendMessages({ body: Buffer.alloc(257 * 1024) })).rejects.toMatchObject({
    code: 'MessageSizeExceeded',
  });
  expect(await bus.stats('large')).toMatchObject({ sent: 1, active: 0 });
});

test('a received message can be sent again', async () => {
  await bus.client.createSender('resend').sendMessages({ body: 'x', messageId: 'same' });
  const [first] = await receive('resend', 1);
  if (first === undefined) throw new Error('no message received');
  bus.clock.advance(1000);
  await bus.client.createSender('resend').sendMessages(first);
  const [second] = await receive('resend', 1);
  expect(second).toMatchObject({ body: 'x', messageId: 'same', deliveryCount: 0 });
  expect(second?.enqueuedTimeUtc?.getTime()).toBe(bus.clock.now());
});

test('a repeated id is dropped within the window and accepted after it', async () => {
  const sender = bus.client.createSender('duplicates');
  await sender.sendMessages({ body: 1, messageId: 'a' });
  await sender.sendMessages([
    { body: 2, messageId: 'a' },
    { body: 3, messageId: 'b' },
  ]);
  expect(await bus.stats('duplicates')).toMatchObject({ sent: 2, active: 2, duplicatesDropped: 1 });
  bus.clock.advance(600_000);
  await sender.sendMessages({ body: 4, messageId: 'a' });
  expect((await receive('duplicates', 3)).map(({ body }) => body)).toEqual([1, 3, 4]);
});

test('sending to an unknown queue or a dead-letter queue is refused', async () => {
  await expect(bus.client.createSender('missing').sendMessages({ body: 1 })).rejects.toMatchObject({
    code: 'MessagingEntityNotFound',
  });
  await expect(bus.client.createSender('plain/$DeadLetterQueue').sendMessages({ body: 1 })).rejects.toThrow(
    /InvalidOperationError: Messages cannot be sent/,
  );
});
