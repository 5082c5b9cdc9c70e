import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceBusForTests, serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
beforeAll(async () => {
  const names = [
    'order',
    'next',
    'state',
    'conflict',
    'lost',
    'renew',
    'wait',
    'close',
    'defer',
    'rules',
    'cut',
    'bye',
    'stale',
    'expired',
  ];
  bus = await serviceBusForTests({
    ...Object.fromEntries(names.map((name) => [name, { RequiresSession: true }])),
    plain: {},
  });
});
afterAll(() => bus[Symbol.asyncDispose]());

const noRenewal = { maxAutoLockRenewalDurationInMs: 0 };
const send = (queue: string, ...messages: [sessionId: string, body: unknown][]) =>
  bus.client.createSender(queue).sendMessages(messages.map(([sessionId, body]) => ({ sessionId, body })));

test('a session delivers only its own messages, in order', async () => {
  await send('order', ['a', 1], ['b', 2], ['a', 3]);
  const receiver = await bus.client.acceptSession('order', 'a', noRenewal);
  const messages = await receiver.receiveMessages(3, { maxWaitTimeInMs: 500 });
  expect(messages.map(({ body, sessionId }) => [sessionId, body])).toEqual([
    ['a', 1],
    ['a', 3],
  ]);
  expect(receiver.sessionLockedUntilUtc.getTime()).toBe(bus.clock.now() + 60_000);
  for (const message of messages) await receiver.completeMessage(message);
  expect(await bus.stats('order')).toMatchObject({ active: 1, completed: 2 });
  await receiver.close();
});

test('the next session is the one with the oldest first message', async () => {
  await send('next', ['x', 1], ['y', 2]);
  const first = await bus.client.acceptNextSession('next', noRenewal);
  const second = await bus.client.acceptNextSession('next', noRenewal);
  expect([first.sessionId, second.sessionId]).toEqual(['x', 'y']);
});

test('accepting the next session waits for one, and times out', async () => {
  const waiting = bus.client.acceptNextSession('wait', noRenewal);
  await send('wait', ['new', 1]);
  expect((await waiting).sessionId).toBe('new');
  const timers = bus.clock.timers();
  const inVain = bus.connect().acceptNextSession('wait', noRenewal);
  const refused = expect(inVain).rejects.toMatchObject({ code: 'ServiceTimeout' });
  await expect.poll(() => bus.clock.timers()).toBeGreaterThan(timers);
  bus.clock.advance(60_000);
  await refused;
});

test('a locked session cannot be accepted; a closed one can', async () => {
  await send('conflict', ['a', 1]);
  const holder = await bus.client.acceptSession('conflict', 'a', noRenewal);
  await expect(bus.connect().acceptSession('conflict', 'a')).rejects.toMatchObject({
    code: 'SessionCannotBeLocked',
  });
  await holder.close();
  const next = await bus.connect().acceptSession('conflict', 'a', noRenewal);
  expect(next.sessionId).toBe('a');
});

test('session state persists between receivers', async () => {
  const first = await bus.client.acceptSession('state', 'a', noRenewal);
  expect(await first.getSessionState()).toBeNull();
  await first.setSessionState({ step: 2 });
  await first.close();
  const second = await bus.client.acceptSession('state', 'a', noRenewal);
  expect(await second.getSessionState()).toEqual({ step: 2 });
});

test('an expired session lock loses the session and returns its messages', async () => {
  await send('lost', ['a', 1]);
  const slow = await bus.client.acceptSession('lost', 'a', noRenewal);
  const [message] = await slow.receiveMessages(1, { maxWaitTimeInMs: 1000 });
  bus.clock.advance(60_000);
  expect(await bus.stats('lost')).toMatchObject({ active: 1, locked: 0 });
  if (message === undefined) throw new Error('no message received');
  await expect(slow.completeMessage(message)).rejects.toMatchObject({ code: 'SessionLockLost' });
  const next = await bus.connect().acceptSession('lost', 'a', noRenewal);
  expect(await next.receiveMessages(1, { maxWaitTimeInMs: 1000 })).toMatchObject([
    { body: 1, deliveryCount: 1 },
  ]);
});

test('renewing a session lock restores its full duration', async () => {
  const receiver = await bus.client.acceptSession('renew', 'a', noRenewal);
  bus.clock.advance(50_000);
  expect((await receiver.renewSessionLock()).getTime()).toBe(bus.clock.now() + 60_000);
  bus.clock.advance(59_999);
  await receiver.setSessionState('still mine');
});

test('closing frees the session and its unsettled messages', async () => {
  await send('close', ['a', 1]);
  const receiver = await bus.client.acceptSession('close', 'a', noRenewal);
  await receiver.receiveMessages(1, { maxWaitTimeInMs: 1000 });
  await receiver.close();
  await expect.poll(() => bus.stats('close')).toMatchObject({ active: 1, locked: 0 });
});

test('a session receiver can receive the session’s deferred messages', async () => {
  await send('defer', ['a', 1]);
  const receiver = await bus.client.acceptSession('defer', 'a', noRenewal);
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 1000 });
  if (message?.sequenceNumber === undefined) throw new Error('no message received');
  await receiver.deferMessage(message);
  const [back] = await receiver.receiveDeferredMessages(message.sequenceNumber);
  if (back === undefined) throw new Error('no deferred message received');
  await receiver.completeMessage(back);
  expect(await bus.stats('defer')).toMatchObject({ deferred: 0, locked: 0, completed: 1 });
});

test('sessions are required if configured, and refused otherwise', async () => {
  const refusal = { message: expect.stringMatching(/^InvalidOperationError: .*session/i) };
  await expect(bus.client.createSender('rules').sendMessages({ body: 1 })).rejects.toMatchObject(refusal);
  await expect(bus.client.createReceiver('rules').receiveMessages(1)).rejects.toMatchObject(refusal);
  await expect(bus.client.acceptNextSession('plain')).rejects.toMatchObject(refusal);
});

test('a session whose connection is lost stays locked until its lock expires', async () => {
  const holder = bus.connect();
  await (await holder.acceptSession('cut', 'a', noRenewal)).setSessionState('kept');
  await bus.setFault({ kind: 'drop-connection' });
  const other = bus.connect();
  await expect(other.acceptSession('cut', 'a', noRenewal)).rejects.toMatchObject({
    code: 'SessionCannotBeLocked',
  });
  bus.clock.advance(60_000);
  const next = await other.acceptSession('cut', 'a', noRenewal);
  expect(await next.getSessionState()).toBe('kept');
});

test('a client that closes its connection in order frees its sessions', async () => {
  const holder = bus.connect();
  await holder.acceptSession('bye', 'a', noRenewal);
  await holder.close();
  await bus.client.acceptSession('bye', 'a', noRenewal);
});

test('a state is refused from a receiver that has lost its session', async () => {
  const slow = await bus.connect().acceptSession('stale', 'a', noRenewal);
  await slow.setSessionState('first');
  bus.clock.advance(60_000);
  const next = await bus.connect().acceptSession('stale', 'a', noRenewal);
  await next.setSessionState('second');
  await expect(slow.setSessionState('late')).rejects.toMatchObject({ code: 'SessionLockLost' });
  expect(await next.getSessionState()).toBe('second');
});

test('the lock of one session can be expired by a fault', async () => {
  const noticed = await bus.connect().acceptSession('expired', 'a', noRenewal);
  const kept = await bus.connect().acceptSession('expired', 'b', noRenewal);
  expect(await bus.setFault({ kind: 'expire-locks', queue: 'expired', session: 'a' })).toEqual({
    expired: 1,
  });
  await bus.client.acceptSession('expired', 'a', noRenewal);
  await expect(noticed.renewSessionLock()).rejects.toMatchObject({ code: 'SessionLockLost' });
  await kept.renewSessionLock();
  expect(await bus.setFault({ kind: 'expire-locks', session: 'nobody' })).toEqual({ expired: 0 });
});
