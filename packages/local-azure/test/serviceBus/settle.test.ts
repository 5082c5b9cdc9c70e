import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  bus = await serviceBusForTests(
    Object.fromEntries(
      [
        'complete',
        'abandon',
        'limit',
        'defer',
        'defer-abandon',
        'dead',
        'expiry',
        'late',
        'renew',
        'dlq',
      ].map((name) => [name, { MaxDeliveryCount: 3 }]),
    ),
  );
});
afterAll(() => bus[Symbol.asyncDispose]());

const peekLock = (queue: string) => bus.client.createReceiver(queue, { maxAutoLockRenewalDurationInMs: 0 });
const deadLetters = (queue: string) => bus.client.createReceiver(queue, { subQueueType: 'deadLetter' });
const send = (queue: string, ...bodies: unknown[]) =>
  bus.client.createSender(queue).sendMessages(bodies.map((body) => ({ body })));

async function receiveOne(receiver: ServiceBusReceiver) {
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 5000 });
  if (message === undefined) throw new Error('no message received');
  return message;
}

function numberOf({ sequenceNumber }: ServiceBusReceivedMessage) {
  if (sequenceNumber === undefined) throw new Error('no sequence number');
  return sequenceNumber;
}

test('complete removes the message', async () => {
  await send('complete', 'a');
  const receiver = peekLock('complete');
  await receiver.completeMessage(await receiveOne(receiver));
  expect(await bus.stats('complete')).toMatchObject({ active: 0, locked: 0, received: 1, completed: 1 });
});

test('abandon returns the message ahead of later ones, with changed properties and a higher delivery count', async () => {
  await send('abandon', 'first', 'second');
  const receiver = peekLock('abandon');
  await receiver.abandonMessage(await receiveOne(receiver), { try: 'again' });
  const again = await receiveOne(receiver);
  expect(again).toMatchObject({ body: 'first', deliveryCount: 1, applicationProperties: { try: 'again' } });
  expect((await bus.stats('abandon')).abandoned).toBe(1);
});

test('a message that fails its last allowed delivery is dead-lettered', async () => {
  await send('limit', 'poison');
  const receiver = peekLock('limit');
  for (let delivery = 0; delivery < 3; delivery++) await receiver.abandonMessage(await receiveOne(receiver));
  expect(await bus.stats('limit')).toMatchObject({ active: 0, deadLettered: 1 });
  expect(await receiveOne(deadLetters('limit'))).toMatchObject({
    body: 'poison',
    deadLetterReason: 'MaxDeliveryCountExceeded',
    deadLetterErrorDescription: 'Message could not be consumed after 3 delivery attempts.',
    deadLetterSource: 'limit',
  });
});

test('a deferred message is set aside until requested by number', async () => {
  await send('defer', 'later');
  const receiver = peekLock('defer');
  const message = await receiveOne(receiver);
  await receiver.deferMessage(message, { why: 'too early' });
  expect(await bus.stats('defer')).toMatchObject({ active: 0, deferred: 1 });
  expect(await receiver.peekMessages(1)).toMatchObject([{ state: 'deferred' }]);
  const [back] = await receiver.receiveDeferredMessages(numberOf(message));
  expect(back).toMatchObject({ body: 'later', applicationProperties: { why: 'too early' } });
  if (back !== undefined) await receiver.completeMessage(back);
  expect(await bus.stats('defer')).toMatchObject({ deferred: 0, locked: 0, completed: 1 });
});

test('a deferred message stays deferred when abandoned; an unknown number is not found', async () => {
  await send('defer-abandon', 'later');
  const receiver = peekLock('defer-abandon');
  const message = await receiveOne(receiver);
  await receiver.deferMessage(message);
  const [back] = await receiver.receiveDeferredMessages(numberOf(message));
  if (back !== undefined) await receiver.abandonMessage(back);
  expect(await bus.stats('defer-abandon')).toMatchObject({ active: 0, deferred: 1 });
  await expect(receiver.receiveDeferredMessages(numberOf(message).add(99))).rejects.toMatchObject({
    code: 'MessageNotFound',
  });
});

test('dead-lettering keeps reason, description and properties', async () => {
  await send('dead', { bad: true });
  const receiver = peekLock('dead');
  await receiver.deadLetterMessage(await receiveOne(receiver), {
    deadLetterReason: 'Malformed',
    deadLetterErrorDescription: 'no amount',
    field: 'amount',
  });
  expect(await receiveOne(deadLetters('dead'))).toMatchObject({
    body: { bad: true },
    deadLetterReason: 'Malformed',
    deadLetterErrorDescription: 'no amount',
    applicationProperties: { field: 'amount' },
  });
});

test('a dead letter stays however often it is abandoned, until it is completed', async () => {
  await send('dlq', 'x');
  const receiver = peekLock('dlq');
  await receiver.deadLetterMessage(await receiveOne(receiver));
  const dead = deadLetters('dlq');
  for (let delivery = 0; delivery < 4; delivery++) await dead.abandonMessage(await receiveOne(dead));
  expect((await bus.stats('dlq')).deadLettered).toBe(1);
  await dead.completeMessage(await receiveOne(dead));
  expect((await bus.stats('dlq')).deadLettered).toBe(0);
});

test('when a lock expires, another receiver gets the message', async () => {
  await send('expiry', 'a');
  const slow = peekLock('expiry');
  const first = await receiveOne(slow);
  bus.clock.advance(59_999);
  expect((await bus.stats('expiry')).locked).toBe(1);
  bus.clock.advance(1);
  const second = await receiveOne(peekLock('expiry'));
  expect(second).toMatchObject({ body: 'a', deliveryCount: 1, sequenceNumber: first.sequenceNumber });
  expect(second.lockToken).not.toBe(first.lockToken);
  expect((await bus.stats('expiry')).lockExpiries).toBe(1);
});

test('a late complete is refused and the message stays', async () => {
  await send('late', 'a');
  const receiver = peekLock('late');
  const message = await receiveOne(receiver);
  bus.clock.advance(60_000);
  await expect(receiver.completeMessage(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
  expect(await bus.stats('late')).toMatchObject({ active: 1, completed: 0 });
});

test('renewing a lock restores its full duration; a lost lock cannot be renewed', async () => {
  await send('renew', 'a');
  const receiver = peekLock('renew');
  const message = await receiveOne(receiver);
  bus.clock.advance(50_000);
  const until = await receiver.renewMessageLock(message);
  expect(until.getTime()).toBe(bus.clock.now() + 60_000);
  bus.clock.advance(59_999);
  expect((await bus.stats('renew')).locked).toBe(1);
  bus.clock.advance(1);
  await expect(receiver.renewMessageLock(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
});
