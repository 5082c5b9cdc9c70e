import type { ServiceBusMessage, ServiceBusSender } from '@azure/service-bus';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../test/support/serviceBusForTests.ts';
import { deadLetter, idOfNext, renewMessageLock, sendAgain } from '../src/serviceBusHeldMessages.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  bus = await serviceBusForTests({ alien: {}, late: {}, long: { LockDuration: 'PT1M' }, lost: {}, away: {} });
});
afterAll(() => bus[Symbol.asyncDispose]());

/** A message locked by a host on the host's own connection. */
async function heldByHost(queue: string) {
  await bus.client.createSender(queue).sendMessages({ body: 'not a batch' });
  const host = bus.connect().createReceiver(queue, { maxAutoLockRenewalDurationInMs: 0 });
  const [message] = await host.receiveMessages(1, { maxWaitTimeInMs: 2_000 });
  if (message?.lockToken === undefined) throw new Error('nothing was received');
  return { host, message, lockToken: message.lockToken };
}

const why = { reason: 'BatchRefused', description: 'shard: two hex digits' };

test('the lock token alone dead-letters a message that another connection holds', async () => {
  const { host, message, lockToken } = await heldByHost('alien');
  await deadLetter(bus.client.createReceiver('alien'), lockToken, why);
  expect(await bus.stats('alien')).toMatchObject({ active: 0, locked: 0, deadLettered: 1 });
  const [dead] = await bus.client.createReceiver('alien', { subQueueType: 'deadLetter' }).peekMessages(1);
  expect(dead).toMatchObject({
    body: 'not a batch',
    deadLetterReason: why.reason,
    deadLetterErrorDescription: why.description,
  });
  // The host's own completion then fails and changes nothing.
  await expect(host.completeMessage(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
  expect(await bus.stats('alien')).toMatchObject({ active: 0, deadLettered: 1 });
});

test('dead-lettering with an expired lock rejects, and the message is delivered again', async () => {
  const { lockToken } = await heldByHost('late');
  await bus.setFault({ kind: 'expire-locks', queue: 'late' });
  const receiver = bus.client.createReceiver('late');
  await expect(deadLetter(receiver, lockToken, why)).rejects.toMatchObject({ code: 'MessageLockLost' });
  expect(await bus.stats('late')).toMatchObject({ active: 1, deadLettered: 0 });
});

test('the lock token alone renews a lock that another connection holds', async () => {
  const { host, message, lockToken } = await heldByHost('long');
  const receiver = bus.client.createReceiver('long');
  for (let minute = 0; minute < 8; minute++) {
    bus.clock.advance(45_000);
    expect(await renewMessageLock(receiver, lockToken)).toEqual({
      kind: 'renewed',
      until: bus.clock.now() + 60_000,
    });
  }
  expect(await bus.stats('long')).toMatchObject({ locked: 1, lockExpiries: 0 });
  await host.completeMessage(message);
  expect(await bus.stats('long')).toMatchObject({ locked: 0, completed: 1 });
});

test('renewing a lost lock answers `lost`: the message belongs to its next receiver', async () => {
  const { lockToken } = await heldByHost('lost');
  const receiver = bus.client.createReceiver('lost');
  await bus.setFault({ kind: 'expire-locks', queue: 'lost' });
  expect(await renewMessageLock(receiver, lockToken)).toEqual({ kind: 'lost' });
  const [again] = await bus.connect().createReceiver('lost').receiveMessages(1, { maxWaitTimeInMs: 2_000 });
  expect(again?.lockToken).not.toBe(lockToken);
  expect(await renewMessageLock(receiver, lockToken)).toEqual({ kind: 'lost' });
  expect(await bus.stats('lost')).toMatchObject({ locked: 1, lockExpiries: 1 });
});

test('renewal rejects if the service refuses for another reason', async () => {
  const { lockToken } = await heldByHost('away');
  const receiver = bus.client.createReceiver('away');
  await bus.setFault({
    kind: 'refuse',
    queue: 'away',
    operation: 'management',
    condition: 'com.microsoft:server-busy',
  });
  await expect(renewMessageLock(receiver, lockToken)).rejects.toMatchObject({ code: 'ServiceBusy' });
  expect(await renewMessageLock(receiver, lockToken)).toMatchObject({ kind: 'renewed' });
});

test('a renewal that does not say until when tells no time', async () => {
  const renewed = { renewMessageLock: async () => new Date(Number.NaN) };
  expect(await renewMessageLock(renewed, 'token')).toEqual({ kind: 'renewed', until: 0 });
});

test('a message that is delivered twice is sent again under one id, and under the next one after that', async () => {
  const sendMessages = vi.fn<ServiceBusSender['sendMessages']>(async () => {});
  for (const id of ['a', 'a', idOfNext('a'), 'b']) await sendAgain({ sendMessages }, {}, 0, id);
  const ids = sendMessages.mock.calls.map(([message]) => (message as ServiceBusMessage).messageId);
  expect(ids).toEqual([idOfNext('a'), idOfNext('a'), idOfNext(idOfNext('a')), idOfNext('b')]);
  expect(new Set([...ids, 'a', 'b']).size).toBe(5);
});

test('a message that is sent again stays in its trace', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const sendMessages = vi.fn<ServiceBusSender['sendMessages']>(async () => {});
  await sendAgain({ sendMessages }, {}, 0, 'a', { traceparent });
  const properties = { traceparent, 'Diagnostic-Id': traceparent };
  expect(sendMessages.mock.calls[0]?.[0]).toMatchObject({ applicationProperties: properties });
});

test('sending again sets a new id, the time to appear and a limit to the wait for the service', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  onTestFinished(() => timeout.mockRestore());
  const sendMessages = vi.fn<ServiceBusSender['sendMessages']>(async () => {});
  const body = { batchId: 'b1' };
  const before = Date.now();
  for (const delayMs of [30_000, 0]) await sendAgain({ sendMessages }, body, delayMs);
  const sent = sendMessages.mock.calls.map(([message]) => message as ServiceBusMessage);
  expect(sent).toMatchObject([
    { body, contentType: 'application/json' },
    { body, contentType: 'application/json' },
  ]);
  expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(2);
  expect(sent.every(({ messageId }) => typeof messageId === 'string' && messageId !== '')).toBe(true);
  for (const [n, delayMs] of [30_000, 0].entries()) {
    const waits = Number(sent[n]?.scheduledEnqueueTimeUtc) - before - delayMs;
    expect(waits).toBeGreaterThanOrEqual(0);
    expect(waits).toBeLessThan(5_000);
    expect(sendMessages.mock.calls[n]?.[1]?.abortSignal).toBe(timeout.mock.results[n]?.value);
  }
  expect(timeout.mock.calls).toEqual([[15_000], [15_000]]);
});
