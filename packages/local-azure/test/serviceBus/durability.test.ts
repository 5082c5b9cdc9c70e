import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ServiceBusClient } from '@azure/service-bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { serviceBusForTests } from '../../../../test/support/serviceBusForTests.ts';
import { noSignals } from '../../../../test/support/signals.ts';

let data: string;
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'service-bus-data-'));
});
afterEach(() => removeFolder(data));

const queues = {
  work: { RequiresDuplicateDetection: true, MaxDeliveryCount: 2 },
  talk: { RequiresSession: true },
};

test('a restart keeps messages in every state, ids, session states and sequence numbers', async () => {
  let lastNumber: number;
  {
    await using bus = await serviceBusForTests(queues, { data });
    const sender = bus.client.createSender('work');
    const names = ['locked', 'abandoned', 'deferred', 'dead', 'completed', 'untouched'];
    await sender.sendMessages(
      names.map((name) => ({ body: name, messageId: name, applicationProperties: { name } })),
    );
    await sender.scheduleMessages({ body: 'scheduled' }, new Date(bus.clock.now() + 3_600_000));
    const receiver = bus.client.createReceiver('work', { maxAutoLockRenewalDurationInMs: 0 });
    const [, abandoned, deferred, dead, completed] = await receiver.receiveMessages(5, {
      maxWaitTimeInMs: 1000,
    });
    if (!abandoned || !deferred || !dead || !completed) throw new Error('expected five messages');
    await receiver.deferMessage(deferred);
    await receiver.deadLetterMessage(dead, { deadLetterReason: 'why', deadLetterErrorDescription: 'so' });
    await receiver.completeMessage(completed);
    await receiver.abandonMessage(abandoned);
    const session = await bus.client.acceptSession('talk', 's', { maxAutoLockRenewalDurationInMs: 0 });
    await session.setSessionState('half way');
    lastNumber = Math.max(...(await receiver.peekMessages(10)).map((each) => Number(each.sequenceNumber)));
  }
  await using bus = await serviceBusForTests(queues, { data });
  expect(await bus.stats('work')).toMatchObject({
    active: 3,
    deferred: 1,
    scheduled: 1,
    deadLettered: 1,
    locked: 0,
  });
  const sender = bus.client.createSender('work');
  await sender.sendMessages([{ body: 'again', messageId: 'completed' }, { body: 'new' }]);
  expect((await bus.stats('work')).duplicatesDropped).toBe(1);
  const receiver = bus.client.createReceiver('work', { maxAutoLockRenewalDurationInMs: 0 });
  const messages = await receiver.receiveMessages(4, { maxWaitTimeInMs: 1000 });
  expect(messages.map(({ body, deliveryCount }) => [body, deliveryCount])).toEqual([
    ['locked', 0],
    ['abandoned', 1],
    ['untouched', 0],
    ['new', 0],
  ]);
  expect(messages[0]?.applicationProperties).toEqual({ name: 'locked' });
  expect(Number(messages[3]?.sequenceNumber)).toBeGreaterThan(lastNumber);
  const dead = bus.client.createReceiver('work', { subQueueType: 'deadLetter' });
  expect(await dead.receiveMessages(1)).toMatchObject([{ body: 'dead', deadLetterReason: 'why' }]);
  const session = await bus.client.acceptSession('talk', 's', { maxAutoLockRenewalDurationInMs: 0 });
  expect(await session.getSessionState()).toBe('half way');
});

/** Starts the stand-in as a separate process. */
async function startProgram(): Promise<{ child: ChildProcess; connectionString: string }> {
  const child = spawn(
    process.execPath,
    [
      'packages/local-azure/src/serviceBus/main.ts',
      '--data',
      data,
      '--config',
      'local/serviceBusConfig.json',
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const settings = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'ready') break;
    settings.set(line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1));
  }
  expect(settings.get('SERVICE_BUS_LOCAL')).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  return { child, connectionString: settings.get('ServiceBus') ?? '' };
}

test('acknowledged messages survive SIGKILL; SIGTERM exits with code 0', async () => {
  const first = await startProgram();
  const before = new ServiceBusClient(first.connectionString, { retryOptions: { maxRetries: 0 } });
  await before.createSender('payment-commands').sendMessages([{ body: 1 }, { body: 2 }]);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  await before.close();

  const second = await startProgram();
  const after = new ServiceBusClient(second.connectionString);
  const receiver = after.createReceiver('payment-commands', { receiveMode: 'receiveAndDelete' });
  const messages = await receiver.receiveMessages(2, { maxWaitTimeInMs: 5000 });
  expect(messages.map(({ body }) => body)).toEqual([1, 2]);
  await after.close();
  second.child.kill('SIGTERM');
  expect((await once(second.child, 'exit'))[0]).toBe(noSignals ? null : 0);
});
