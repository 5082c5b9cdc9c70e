import type { ServiceBusReceiver } from '@azure/service-bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

/*
 * Where a lenient stand-in would let a mistake pass that the service refuses or counts. Found with the SDK's own
 * integration tests.
 */

let bus: ServiceBusForTests;
beforeAll(async () => {
  const names = ['defer', 'dead', 'dead-count', 'big', 'states', 'peek', 'dead-text', 'properties'];
  bus = await serviceBusForTests({
    ...Object.fromEntries(names.map((name) => [name, { MaxDeliveryCount: 3 }])),
    sessions: { RequiresSession: true },
  });
});
afterAll(() => bus[Symbol.asyncDispose]());

const peekLock = (queue: string) => bus.client.createReceiver(queue, { maxAutoLockRenewalDurationInMs: 0 });
const deadLettersOf = (queue: string) =>
  bus.client.createReceiver(queue, { subQueueType: 'deadLetter', maxAutoLockRenewalDurationInMs: 0 });
const send = (queue: string, body: unknown) => bus.client.createSender(queue).sendMessages({ body });

async function receiveOne(receiver: ServiceBusReceiver) {
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 5000 });
  if (message?.sequenceNumber === undefined) throw new Error('no message received');
  return { ...message, sequenceNumber: message.sequenceNumber, original: message };
}

test('deferring counts as a delivery, and the last one ends among the dead letters', async () => {
  await send('defer', 'again and again');
  const receiver = peekLock('defer');
  const { original, sequenceNumber } = await receiveOne(receiver);
  await receiver.deferMessage(original);
  const [second] = await receiver.receiveDeferredMessages(sequenceNumber);
  expect(second).toMatchObject({ deliveryCount: 1, state: 'deferred' });
  if (second === undefined) throw new Error('no deferred message');
  await receiver.deferMessage(second);
  const [third] = await receiver.receiveDeferredMessages(sequenceNumber);
  if (third === undefined) throw new Error('no deferred message');
  await receiver.deferMessage(third);
  expect(await bus.stats('defer')).toMatchObject({ deferred: 0, deadLettered: 1 });
  expect(await receiveOne(deadLettersOf('defer'))).toMatchObject({
    deadLetterReason: 'MaxDeliveryCountExceeded',
  });
});

test('a dead letter cannot be dead-lettered', async () => {
  await send('dead', 'a');
  const receiver = peekLock('dead');
  await receiver.deadLetterMessage((await receiveOne(receiver)).original);
  const dead = deadLettersOf('dead');
  const { original } = await receiveOne(dead);
  await expect(dead.deadLetterMessage(original)).rejects.toMatchObject({
    message: expect.stringContaining('cannot be dead-lettered'),
  });
  expect(await bus.stats('dead')).toMatchObject({ deadLettered: 1 });
});

test('a dead letter that is abandoned keeps the delivery count it died with', async () => {
  await send('dead-count', 'a');
  const receiver = peekLock('dead-count');
  for (let delivery = 0; delivery < 3; delivery++)
    await receiver.abandonMessage((await receiveOne(receiver)).original);
  const dead = deadLettersOf('dead-count');
  const { original, deliveryCount } = await receiveOne(dead);
  await dead.abandonMessage(original);
  expect(await receiveOne(dead)).toMatchObject({ deliveryCount });
});

test('a scheduled message may be no larger than one that is sent', async () => {
  const sender = bus.client.createSender('big');
  const at = new Date(bus.clock.now() + 60_000);
  const large = { body: 'x'.repeat(300_000) };
  await expect(sender.sendMessages(large)).rejects.toMatchObject({ code: 'MessageSizeExceeded' });
  await expect(sender.scheduleMessages(large, at)).rejects.toMatchObject({ code: 'MessageSizeExceeded' });
  expect(await bus.stats('big')).toMatchObject({ scheduled: 0 });
  await sender.scheduleMessages({ body: 'x'.repeat(200_000) }, at);
  expect(await bus.stats('big')).toMatchObject({ scheduled: 1 });
});

test('a message that was scheduled says so when it is received', async () => {
  await bus.client
    .createSender('states')
    .scheduleMessages({ body: 'later' }, new Date(bus.clock.now() + 1_000));
  bus.clock.advance(1_000);
  expect(await receiveOne(peekLock('states'))).toMatchObject({ body: 'later', state: 'scheduled' });
});

test('peeking without bodies is refused rather than ignored', async () => {
  await send('peek', 'a');
  // The SDK passes this option on, although its type does not name it.
  const options: object = { omitMessageBody: true };
  await expect(peekLock('peek').peekMessages(1, options)).rejects.toThrow(/not supported/);
});

test('no message says that this receiver is the first to have it', async () => {
  await send('states', 'a');
  const { original } = await receiveOne(peekLock('states'));
  expect(original._rawAmqpMessage.header?.firstAcquirer).toBe(false);
});

test('a queue that does not exist is named in the refusal, with those that do', async () => {
  await expect(send('nowhere', 'a')).rejects.toMatchObject({
    code: 'MessagingEntityNotFound',
    message: expect.stringMatching(
      /The messaging entity 'sb:\/\/127\.0\.0\.1\/nowhere' could not be found\. There are: .*\bdead-text\b/,
    ),
  });
  await expect(peekLock('nowhere').peekMessages(1)).rejects.toMatchObject({
    code: 'MessagingEntityNotFound',
    message: expect.stringContaining("'sb://127.0.0.1/nowhere'"),
  });
});

test('the reason and the description of a dead letter have at most 4,096 characters', async () => {
  const receiver = peekLock('dead-text');
  const longest = 'x'.repeat(4096);
  const die = async (deadLetterReason: string, deadLetterErrorDescription: string) => {
    await send('dead-text', 'a');
    const { original } = await receiveOne(receiver);
    await receiver.deadLetterMessage(original, { deadLetterReason, deadLetterErrorDescription });
  };
  await expect(die(`${longest}x`, 'd')).rejects.toThrow('at most 4096 characters');
  await expect(die('r', `${longest}x`)).rejects.toThrow('at most 4096 characters');
  await die(longest, longest);
  expect(await receiveOne(deadLettersOf('dead-text'))).toMatchObject({
    deadLetterReason: longest,
    deadLetterErrorDescription: longest,
  });
});

test('an application property has at most 32 KB, all of a message 64 KB', async () => {
  const sender = bus.client.createSender('properties');
  const at = new Date(bus.clock.now() + 60_000);
  const most = 'x'.repeat(32 * 1024 - 5);
  const fits = { body: 'a', applicationProperties: { a: most, b: 'x'.repeat(30_000) } };
  await sender.sendMessages(fits);
  for (const applicationProperties of [{ a: `${most}x` }, { a: most, b: most, c: 'x'.repeat(1000) }]) {
    const message = { body: 'a', applicationProperties };
    await expect(sender.sendMessages(message)).rejects.toMatchObject({ code: 'MessageSizeExceeded' });
    await expect(sender.scheduleMessages(message, at)).rejects.toMatchObject({ code: 'MessageSizeExceeded' });
  }
  expect(await receiveOne(peekLock('properties'))).toMatchObject({
    applicationProperties: fits.applicationProperties,
  });
});

test('the empty text is a session id', async () => {
  // This SDK cannot accept such a session: it takes the empty text for no id.
  await bus.client.createSender('sessions').sendMessages({ body: 'a', sessionId: '' });
  expect(await bus.stats('sessions')).toMatchObject({ active: 1 });
});
