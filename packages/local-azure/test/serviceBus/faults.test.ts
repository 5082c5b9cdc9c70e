import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  const names = [
    'refuse',
    'delay',
    'lost-answer',
    'lost-send',
    'settle',
    'receive',
    'manage',
    'locks',
    'other',
  ];
  bus = await serviceBusForTests(Object.fromEntries(names.map((name) => [name, {}])), { timeoutInMs: 1000 });
});
afterAll(() => bus[Symbol.asyncDispose]());
afterEach(() => fetch(`${bus.localAddress}/_local/faults`, { method: 'DELETE' }));

const armed = async () => (await fetch(`${bus.localAddress}/_local/faults`)).json();
const sender = (queue: string) => bus.connect().createSender(queue);
const peekLock = (queue: string) =>
  bus.connect().createReceiver(queue, { maxAutoLockRenewalDurationInMs: 0 });

test('a refused send stores nothing; the fault hits only its queue, and only as often as its count', async () => {
  await bus.setFault({ kind: 'refuse', operation: 'send', queue: 'refuse', count: 2 });
  await sender('other').sendMessages({ body: 0 });
  const one = sender('refuse');
  await expect(one.sendMessages({ body: 1 })).rejects.toMatchObject({ code: 'ServiceBusy' });
  expect(await armed()).toMatchObject([{ kind: 'refuse', count: 1 }]);
  await expect(one.sendMessages({ body: 1 })).rejects.toMatchObject({ code: 'ServiceBusy' });
  expect(await armed()).toEqual([]);
  await one.sendMessages({ body: 1 });
  expect((await bus.stats('refuse')).sent).toBe(1);
});

test('a delayed send is stored after the delay', async () => {
  await bus.setFault({ kind: 'delay', operation: 'send', delayMs: 5000 });
  const sending = sender('delay').sendMessages({ body: 1 });
  await expect.poll(armed).toEqual([]);
  expect((await bus.stats('delay')).sent).toBe(0);
  bus.clock.advance(5000);
  await sending;
  expect((await bus.stats('delay')).sent).toBe(1);
});

test('losing the connection before a send stores nothing; losing it after stores the message', async () => {
  await bus.setFault({ kind: 'drop-connection', operation: 'send', queue: 'lost-send' });
  await expect(sender('lost-send').sendMessages({ body: 1 })).rejects.toThrow();
  expect((await bus.stats('lost-send')).sent).toBe(0);
  await bus.setFault({ kind: 'drop-connection', operation: 'send', when: 'after' });
  await expect(sender('lost-answer').sendMessages({ body: 1 })).rejects.toThrow();
  expect((await bus.stats('lost-answer')).sent).toBe(1);
});

test('a refused settlement keeps the lock', async () => {
  await sender('settle').sendMessages({ body: 1 });
  const receiver = peekLock('settle');
  const [message] = await receiver.receiveMessages(1);
  if (message === undefined) throw new Error('no message received');
  await bus.setFault({ kind: 'refuse', operation: 'settle', condition: 'com.microsoft:message-lock-lost' });
  await expect(receiver.completeMessage(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
  expect(await bus.stats('settle')).toMatchObject({ locked: 1, completed: 0 });
});

test('a message stays locked after its receiver loses the connection, until the lock expires', async () => {
  await sender('receive').sendMessages({ body: 1 });
  await bus.setFault({ kind: 'drop-connection', operation: 'receive', when: 'after' });
  expect(
    await peekLock('receive')
      .receiveMessages(1, { maxWaitTimeInMs: 300 })
      .catch(() => []),
  ).toEqual([]);
  expect(await bus.stats('receive')).toMatchObject({ active: 0, locked: 1 });
  bus.clock.advance(60_000);
  expect(await peekLock('receive').receiveMessages(1)).toMatchObject([{ deliveryCount: 1 }]);
});

test('management and connections can be refused', async () => {
  await bus.setFault({ kind: 'refuse', operation: 'management', condition: 'com.microsoft:server-busy' });
  await expect(peekLock('manage').peekMessages(1)).rejects.toMatchObject({ code: 'ServiceBusy' });
  await bus.setFault({ kind: 'refuse', operation: 'connect' });
  await expect(sender('manage').sendMessages({ body: 1 })).rejects.toThrow();
  expect((await bus.stats('manage')).sent).toBe(0);
});

test('expire-locks ends locks at once; dropping all connections reports how many', async () => {
  await sender('locks').sendMessages([{ body: 1 }, { body: 2 }]);
  await peekLock('locks').receiveMessages(2, { maxWaitTimeInMs: 1000 });
  expect(await bus.setFault({ kind: 'expire-locks', queue: 'locks' })).toEqual({ expired: 2 });
  expect(await bus.stats('locks')).toMatchObject({ active: 2, locked: 0, lockExpiries: 2 });
  expect(await bus.setFault({ kind: 'drop-connection' })).toMatchObject({ dropped: expect.any(Number) });
});

test('an invalid fault is refused, naming the field', async () => {
  await expect(bus.setFault({ kind: 'explode' })).rejects.toThrow(/kind/);
  await expect(bus.setFault({ kind: 'delay', operation: 'sned', delayMs: 1 })).rejects.toThrow(/operation/);
});
