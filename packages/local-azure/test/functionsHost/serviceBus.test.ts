import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { type ServiceBus, startServiceBus } from '../../src/serviceBus/index.ts';

const app = fileURLToPath(new URL('fixtures/serviceBusApp', import.meta.url));
let serviceBus: ServiceBus;
let client: ServiceBusClient;
let host: HostProcess;

beforeAll(async () => {
  serviceBus = await startServiceBus({ config: join(app, 'queues.json') });
  client = new ServiceBusClient(serviceBus.connectionString);
  host = await startHostProcess({ app, env: { ServiceBus: serviceBus.connectionString, TOPIC: 'orders' } });
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  await client?.close();
  await serviceBus?.stop();
});

async function send(queue: string, ...messages: ServiceBusMessage[]): Promise<void> {
  const sender = client.createSender(queue);
  await sender.sendMessages(messages);
  await sender.close();
}

/** Reads from the log what the function received for that message. */
async function seen(messageId: string) {
  const [, line = ''] = await host.line(new RegExp(`SEEN command (.*"${messageId}".*)`));
  return JSON.parse(line);
}

async function waiting(queue: string): Promise<number> {
  const receiver = client.createReceiver(queue);
  const messages = await receiver.peekMessages(100);
  await receiver.close();
  return messages.length;
}

test('delivers a message with its metadata and completes it when the function returns', async () => {
  const messageId = `m-${randomUUID()}`;
  await send('commands', {
    body: { batchId: 'b-1', invoices: [1, 2] },
    messageId,
    subject: 'pay',
    correlationId: 'c-1',
    applicationProperties: { Kind: 'batch', attempt: 2 },
  });
  const { message, triggerMetadata } = await seen(messageId);
  expect(message).toEqual({ batchId: 'b-1', invoices: [1, 2] });
  expect(triggerMetadata).toMatchObject({
    messageId,
    deliveryCount: 1,
    subject: 'pay',
    label: 'pay',
    correlationId: 'c-1',
    // The programming model lowercases the first letter of every name in the metadata.
    applicationProperties: { kind: 'batch', attempt: 2 },
    userProperties: { kind: 'batch', attempt: 2 },
    lockToken: expect.stringMatching(/^[0-9a-f-]{36}$/),
    sequenceNumber: expect.any(Number),
  });
  expect(Math.abs(Date.now() - Date.parse(triggerMetadata.enqueuedTimeUtc))).toBeLessThan(60_000);
  await expect.poll(() => waiting('commands')).toBe(0);
});

test.each([
  ['bytes that are text', Buffer.from('plain'), 'plain'],
  ['a JSON string', '"quoted"', '"quoted"'],
  ['bytes that are JSON', Buffer.from('[1,{"a":null}]'), [1, { a: null }]],
])('%s', async (_, body, expected) => {
  const messageId = `m-${randomUUID()}`;
  await send('commands', { body, messageId });
  expect((await seen(messageId)).message).toEqual(expected);
});

test('an exception abandons the message: delivery counts 1, 2, 3, then the dead-letter queue', async () => {
  const messageId = `m-${randomUUID()}`;
  await send('commands', { body: 'fail', messageId });
  for (const count of [1, 2, 3]) {
    await host.line(
      new RegExp(`"deliveryCount":${count}.*"${messageId}"|"${messageId}".*"deliveryCount":${count}`),
    );
  }
  const receiver = client.createReceiver('commands', { subQueueType: 'deadLetter' });
  const [dead] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 5_000 });
  expect(dead?.messageId).toBe(messageId);
  await receiver.close();
});

test('runs at most maxConcurrentCalls at a time, though it prefetches more', async () => {
  const messages = Array.from({ length: 40 }, () => ({ body: {}, messageId: `m-${randomUUID()}` }));
  await send('commands', ...messages);
  let most = 0;
  for (const { messageId } of messages) most = Math.max(most, (await seen(messageId)).most);
  expect(most).toBe(3);
});

test('settlements that hang do not hold up further messages', async () => {
  const url = `${serviceBus.localAddress}/_local/faults`;
  const fault = { kind: 'delay', operation: 'settle', delayMs: 2_000, count: 3 };
  await fetch(url, { method: 'POST', body: JSON.stringify(fault) });
  const ids = Array.from({ length: 6 }, () => `m-${randomUUID()}`);
  for (const messageId of ids) {
    await send('commands', { body: {}, messageId });
    await seen(messageId);
  }
  // There are only three concurrent calls, and the first three messages are still unsettled.
  expect(await locked()).toBeGreaterThanOrEqual(3);
  await expect.poll(locked, { timeout: 10_000 }).toBe(0);

  async function locked(): Promise<number> {
    const response = await fetch(`${serviceBus.localAddress}/_local/stats`);
    const { queues } = (await response.json()) as { queues: { commands: { locked: number } } };
    return queues.commands.locked;
  }
});

test('with autoCompleteMessages off the message is not settled', async () => {
  await send('kept', { body: 'stays' });
  await host.line(/SEEN kept "stays"/);
  expect(await waiting('kept')).toBe(1);
});

test('cardinality many: a batch with arrays of metadata, completed as a whole', async () => {
  const sender = client.createSender('batches');
  const ids = Array.from({ length: 5 }, () => `m-${randomUUID()}`);
  await sender.sendMessages(ids.map((messageId, n) => ({ body: { n }, messageId, subject: `s${n}` })));
  const [, line = ''] = await host.line(new RegExp(`SEEN batch (.*"${ids[4]}".*)`));
  const { messages, triggerMetadata } = JSON.parse(line);
  expect(messages).toEqual(ids.map((_, n) => ({ n })));
  expect(triggerMetadata).toMatchObject({
    messageIdArray: ids,
    subjectArray: ids.map((_, n) => `s${n}`),
    deliveryCountArray: [1, 1, 1, 1, 1],
    lockTokenArray: ids.map(() => expect.stringMatching(/^[0-9a-f-]{36}$/)),
  });
  await expect.poll(() => waiting('batches')).toBe(0);
  await sender.close();
});

test('an exception abandons every message of a batch', async () => {
  await send('batches', { body: 'fail' }, { body: 'good' });
  await host.line(/SEEN batch .*"fail".*"deliveryCountArray":\[3,3\]/);
  const receiver = client.createReceiver('batches', { subQueueType: 'deadLetter' });
  const dead = await receiver.receiveMessages(2, { maxWaitTimeInMs: 5_000 });
  expect(dead.map(({ body }) => body)).toEqual(['fail', 'good']);
  await receiver.close();
});

test('sessions: each in its order, several side by side, and one that comes again later', async () => {
  const sent = (session: string, from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ body: `${from + n}`, sessionId: session }));
  await send('sessions', ...sent('a', 0, 6), ...sent('b', 0, 6));
  const seenIn = (session: string) =>
    host.lines.flatMap((line) => new RegExp(`^SEEN in ${session}: (.*)$`).exec(line)?.[1] ?? []);
  const patiently = { timeout: 10_000 };
  for (const session of ['a', 'b'])
    await expect.poll(() => seenIn(session), patiently).toEqual(['0', '1', '2', '3', '4', '5']);
  const order = host.lines.filter((line) => line.startsWith('SEEN in '));
  // Not one session after the other.
  expect(order.lastIndexOf('SEEN in a: 5')).toBeGreaterThan(order.indexOf('SEEN in b: 0'));
  expect(order.lastIndexOf('SEEN in b: 5')).toBeGreaterThan(order.indexOf('SEEN in a: 0'));
  await send('sessions', ...sent('a', 6, 2));
  await expect.poll(() => seenIn('a').slice(6), patiently).toEqual(['6', '7']);
});

test('a topic: its subscription triggers, and a topic takes what is returned', async () => {
  const messages = [5, 50].map((quantity) => ({
    body: { quantity },
    subject: 'order',
    applicationProperties: { quantity },
  }));
  await send('orders', ...messages);
  const receiver = client.createReceiver('results', 'all', { receiveMode: 'receiveAndDelete' });
  const [result, ...others] = await receiver.receiveMessages(2, { maxWaitTimeInMs: 10_000 });
  expect(result?.body).toEqual({ message: { quantity: 50 }, subject: 'order' });
  expect(others).toEqual([]);
  await receiver.close();
});

test('an entity that is missing is reported once', async () => {
  await host.line(/missing.*could not be found/);
  const reports = () => host.lines.filter((line) => /missing.*could not be found/.test(line)).length;
  await delay(3_000);
  expect(reports()).toBe(1);
});

test.skipIf(noSignals)(
  'Ctrl-C while messages are being handled: they are settled and the host exits with 0',
  async () => {
    const messages = Array.from({ length: 6 }, () => ({ body: {}, messageId: `m-${randomUUID()}` }));
    await send('commands', ...messages);
    await seen(messages[0]?.messageId ?? '');
    host.kill('SIGINT');
    expect(await host.exited).toBe(0);
    const handled = messages.filter(({ messageId }) => host.lines.some((line) => line.includes(messageId)));
    expect(await waiting('commands')).toBe(messages.length - handled.length);
  },
);
