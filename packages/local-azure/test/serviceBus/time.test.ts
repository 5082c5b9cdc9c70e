import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  bus = await serviceBusForTests({
    expire: { DefaultMessageTimeToLive: 'PT1H', DeadLetteringOnMessageExpiration: true },
    vanish: {},
    defer: { DeadLetteringOnMessageExpiration: true },
    schedule: {},
    cancel: {},
  });
});
afterAll(() => bus[Symbol.asyncDispose]());

const receive = (queue: string, subQueueType?: 'deadLetter') =>
  bus.client
    .createReceiver(queue, {
      receiveMode: 'receiveAndDelete',
      ...(subQueueType === undefined ? {} : { subQueueType }),
    })
    .receiveMessages(10, { maxWaitTimeInMs: 300 });

test('a message is dead-lettered after its own time to live or the queue’s, whichever is shorter', async () => {
  await bus.client
    .createSender('expire')
    .sendMessages([
      { body: 'short', timeToLive: 1000 },
      { body: 'long', timeToLive: 7_200_000 },
      { body: 'default' },
    ]);
  bus.clock.advance(1000);
  expect(await bus.stats('expire')).toMatchObject({ active: 2, deadLettered: 1 });
  bus.clock.advance(3_599_000);
  expect(await bus.stats('expire')).toMatchObject({ active: 0, deadLettered: 3 });
  const dead = await receive('expire', 'deadLetter');
  expect(dead.map(({ body }) => body)).toEqual(['short', 'long', 'default']);
  expect(dead[0]).toMatchObject({
    deadLetterReason: 'TTLExpiredException',
    deadLetterErrorDescription: 'The message expired and was dead lettered.',
  });
});

test('without dead-lettering an expired message is dropped', async () => {
  await bus.client.createSender('vanish').sendMessages({ body: 'short', timeToLive: 1000 });
  bus.clock.advance(1000);
  expect(await bus.stats('vanish')).toMatchObject({ active: 0, deadLettered: 0 });
});

test('a locked message does not expire before its lock ends; a deferred one only on request', async () => {
  const sender = bus.client.createSender('defer');
  await sender.sendMessages({ body: 'deferred', timeToLive: 30_000 });
  await sender.sendMessages({ body: 'locked', timeToLive: 30_000 });
  const receiver = bus.client.createReceiver('defer', { maxAutoLockRenewalDurationInMs: 0 });
  const [first] = await receiver.receiveMessages(2, { maxWaitTimeInMs: 1000 });
  if (first?.sequenceNumber === undefined) throw new Error('no message received');
  await receiver.deferMessage(first);
  bus.clock.advance(30_000);
  expect(await bus.stats('defer')).toMatchObject({ deferred: 1, locked: 1, deadLettered: 0 });
  bus.clock.advance(30_000);
  expect(await bus.stats('defer')).toMatchObject({ deferred: 1, locked: 0, deadLettered: 1 });
  await expect(receiver.receiveDeferredMessages(first.sequenceNumber)).rejects.toMatchObject({
    code: 'MessageNotFound',
  });
  expect(await bus.stats('defer')).toMatchObject({ deferred: 0, deadLettered: 2 });
});

test('a scheduled message becomes active when due, as if sent then', async () => {
  const sender = bus.client.createSender('schedule');
  const at = new Date(bus.clock.now() + 60_000);
  const [number] = await sender.scheduleMessages({ body: 'later' }, at);
  await sender.sendMessages([{ body: 'annotated', scheduledEnqueueTimeUtc: at }, { body: 'now' }]);
  expect(await bus.stats('schedule')).toMatchObject({ active: 1, scheduled: 2 });
  const peeked = await bus.client.createReceiver('schedule').peekMessages(3);
  expect(peeked.map(({ state }) => state)).toEqual(['scheduled', 'scheduled', 'active']);
  expect(peeked[0]?.sequenceNumber).toEqual(number);
  bus.clock.advance(60_000);
  const received = await receive('schedule');
  expect(received.map(({ body }) => body)).toEqual(['now', 'later', 'annotated']);
  expect(received[1]).toMatchObject({ enqueuedTimeUtc: at, scheduledEnqueueTimeUtc: at });
  expect(received.map(({ state }) => state)).toEqual(['active', 'scheduled', 'scheduled']);
});

test('a message whose time is already due when it is sent is active, and says so', async () => {
  const at = new Date(bus.clock.now() - 1000);
  await bus.client.createSender('schedule').sendMessages({ body: 'due', scheduledEnqueueTimeUtc: at });
  const [received] = await receive('schedule');
  expect(received).toMatchObject({ body: 'due', state: 'active', scheduledEnqueueTimeUtc: at });
});

test('a scheduled message can be cancelled once', async () => {
  const sender = bus.client.createSender('cancel');
  const numbers = await sender.scheduleMessages(
    [{ body: 1 }, { body: 2 }],
    new Date(bus.clock.now() + 60_000),
  );
  await sender.cancelScheduledMessages(numbers);
  expect((await bus.stats('cancel')).scheduled).toBe(0);
  await expect(sender.cancelScheduledMessages(numbers)).rejects.toMatchObject({ code: 'MessageNotFound' });
});
