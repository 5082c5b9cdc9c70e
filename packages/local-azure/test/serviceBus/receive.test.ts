import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  const names = ['delete', 'wait', 'subscribe', 'share', 'peek', 'many', 'closed', 'empty'];
  bus = await serviceBusForTests(Object.fromEntries(names.map((name) => [name, {}])));
});
afterAll(() => bus[Symbol.asyncDispose]());

const send = (queue: string, ...bodies: unknown[]) =>
  bus.client.createSender(queue).sendMessages(bodies.map((body) => ({ body })));
const peekLock = (queue: string) => bus.client.createReceiver(queue, { maxAutoLockRenewalDurationInMs: 0 });

test('receive and delete removes the message at once', async () => {
  await send('delete', 'a', 'b');
  const receiver = bus.client.createReceiver('delete', { receiveMode: 'receiveAndDelete' });
  const received = await receiver.receiveMessages(2, { maxWaitTimeInMs: 5000 });
  expect(received.map(({ body }) => body)).toEqual(['a', 'b']);
  expect(await bus.stats('delete')).toMatchObject({ active: 0, locked: 0, received: 2 });
});

test('receiving from an empty queue times out, and the receiver still works', async () => {
  const receiver = peekLock('empty');
  expect(await receiver.receiveMessages(5, { maxWaitTimeInMs: 50 })).toEqual([]);
  await send('empty', 'a');
  expect(await receiver.receiveMessages(5, { maxWaitTimeInMs: 2000 })).toMatchObject([{ body: 'a' }]);
  expect(await receiver.receiveMessages(5, { maxWaitTimeInMs: 50 })).toEqual([]);
});

test('a waiting receiver gets a message as soon as it arrives', async () => {
  const receiver = peekLock('wait');
  const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
  await send('wait', 'a');
  expect(await waiting).toMatchObject([{ body: 'a' }]);
});

test('subscribe completes a message if its handler returns, and abandons it if it throws', async () => {
  const done = new EventEmitter();
  const seen: unknown[] = [];
  const receiver = peekLock('subscribe');
  receiver.subscribe({
    async processMessage({ body, deliveryCount }) {
      seen.push([body, deliveryCount]);
      if (body === 'bad' && deliveryCount === 0) throw new Error('first time');
      if (seen.length === 3) done.emit('all');
    },
    async processError() {},
  });
  const all = once(done, 'all');
  await send('subscribe', 'good', 'bad');
  await all;
  expect(seen).toEqual([
    ['good', 0],
    ['bad', 0],
    ['bad', 1],
  ]);
  await receiver.close();
  expect(await bus.stats('subscribe')).toMatchObject({ active: 0, abandoned: 1 });
});

test('receivers take turns', async () => {
  const receivers = [peekLock('share'), bus.connect().createReceiver('share')];
  const waiting = receivers.map((receiver) => receiver.receiveMessages(10, { maxWaitTimeInMs: 1000 }));
  await expect.poll(async () => (await bus.stats('share')).receivers).toBe(2);
  await send('share', 1, 2, 3, 4);
  const shares = (await Promise.all(waiting)).map((messages) => messages.length);
  expect(shares).toEqual([2, 2]);
});

test('peek returns messages in order without locking them', async () => {
  await send('peek', 'a', 'b', 'c');
  const receiver = peekLock('peek');
  expect((await receiver.peekMessages(2)).map(({ body }) => body)).toEqual(['a', 'b']);
  expect((await receiver.peekMessages(2)).map(({ body }) => body)).toEqual(['c']);
  expect(await receiver.peekMessages(2)).toEqual([]);
  expect(await bus.stats('peek')).toMatchObject({ active: 3, locked: 0, received: 0 });
});

test('one receiver can take more messages than fit in an AMQP session window', async () => {
  const sender = bus.client.createSender('many');
  for (let n = 0; n < 5; n++) {
    await sender.sendMessages(Array.from({ length: 1000 }, (_, i) => ({ body: n * 1000 + i })));
  }
  const receiver = peekLock('many');
  let next = 0;
  while (next < 5000) {
    const messages = await receiver.receiveMessages(500, { maxWaitTimeInMs: 5000 });
    for (const { body } of messages) expect(body).toBe(next++);
    await Promise.all(messages.map((message) => receiver.completeMessage(message)));
  }
  expect(await bus.stats('many')).toMatchObject({ active: 0, locked: 0, completed: 5000 });
});

test('closing a receiver keeps its locks until they expire', async () => {
  await send('closed', 'a');
  const receiver = peekLock('closed');
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 5000 });
  await receiver.close();
  expect((await bus.stats('closed')).locked).toBe(1);
  expect(message?.body).toBe('a');
  bus.clock.advance(60_000);
  expect(await bus.stats('closed')).toMatchObject({ active: 1, locked: 0 });
});

test('a queue or subscription that there is not is named', async () => {
  for (const missing of ['missing', 'topic/Subscriptions/subscription'])
    await expect(bus.client.createReceiver(missing).receiveMessages(1)).rejects.toMatchObject({
      code: 'MessagingEntityNotFound',
      message: expect.stringContaining(`/${missing}' could not be found`),
    });
});
