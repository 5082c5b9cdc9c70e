import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';
import { noSignals } from '../../../../test/support/signals.ts';

const app = fileURLToPath(new URL('fixtures/esmApp', import.meta.url));
const queueName = `on-queue-${randomUUID()}`;
const hostId = `triggers-${randomUUID()}`;
const queues = QueueServiceClient.fromConnectionString(inject('azurite'));
const queue = queues.getQueueClient(queueName);
const poison = queues.getQueueClient(`${queueName}-poison`);

const start = (instance: string, args: string[] = [], from = queueName) =>
  startHostProcess({
    app,
    env: {
      AzureWebJobsStorage: inject('azurite'),
      AzureFunctionsWebHost__hostid: hostId,
      AzureFunctionsJobHost__singleton__listenerLockPeriod: '00:00:15',
      AzureFunctionsJobHost__singleton__listenerLockRecoveryPollingInterval: '00:00:00.250',
      QUEUE_NAME: from,
      EVERY_SECOND: '* * * * * *',
      INSTANCE_ID: instance,
    },
    args,
  });

let hosts: HostProcess[];
beforeAll(async () => {
  hosts = await Promise.all([start('a'), start('b')]);
});
afterAll(async () => {
  for (const host of hosts) await host[Symbol.asyncDispose]();
});

/** The first matching line of any host. */
const anyLine = (pattern: RegExp) => Promise.any(hosts.map((host) => host.line(pattern)));
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('finds a queue created while it polls; JSON arrives parsed, other text unchanged', async () => {
  await queue.createIfNotExists();
  const seen: unknown[] = [];
  const texts = ['{"n":1}', '[2]', '3', 'true', '"quoted"', 'plain', '{"broken":'];
  for (const text of texts) {
    const { messageId } = await queue.sendMessage(base64(text));
    const [, line = ''] = await anyLine(new RegExp(`SEEN queue (.*"id":"${messageId}".*)`));
    const { message, triggerMetadata } = JSON.parse(line);
    seen.push(message);
    expect(Object.keys(triggerMetadata).sort()).toEqual([
      'dequeueCount',
      'expirationTime',
      'id',
      'insertionTime',
      'nextVisibleTime',
      'popReceipt',
      'queueTrigger',
    ]);
    expect(triggerMetadata.dequeueCount).toBe(1);
  }
  expect(seen).toEqual([{ n: 1 }, [2], 3, true, 'quoted', 'plain', '{"broken":']);
  await expect.poll(async () => (await queue.getProperties()).approximateMessagesCount).toBe(0);
});

test('a message that fails is delivered maxDequeueCount times, then moves to the poison queue', async () => {
  const { messageId } = await queue.sendMessage(base64('fail'));
  for (const count of [1, 2, 3]) {
    await anyLine(
      new RegExp(`SEEN queue .*"id":"${messageId}","popReceipt":"[^"]+","dequeueCount":${count}`),
    );
  }
  await anyLine(new RegExp(`message ${messageId} moved to ${queueName}-poison`));
  const { receivedMessageItems } = await poison.receiveMessages();
  expect(receivedMessageItems.map(({ messageText }) => messageText)).toEqual([base64('fail')]);
  expect((await queue.getProperties()).approximateMessagesCount).toBe(0);
});

test('a message that is not base64 goes to the poison queue at once', async () => {
  const { messageId } = await queue.sendMessage('not base64!');
  await anyLine(new RegExp(`message ${messageId} moved to ${queueName}-poison`));
});

test('what fails in a poison queue stays there, and invisible: it has no poison queue of its own', async () => {
  const name = `left-${randomUUID()}-poison`;
  const left = queues.getQueueClient(name);
  await left.create();
  await using host = await start('c', [], name);
  const { messageId: undecoded } = await left.sendMessage('not base64!');
  const { messageId: failed } = await left.sendMessage(base64('fail'));
  await host.line(new RegExp(`message ${undecoded} is not in the encoding`));
  await host.line(new RegExp(`SEEN queue .*"id":"${failed}"`));
  const { messageId: later } = await left.sendMessage(base64('later'));
  await host.line(new RegExp(`SEEN queue .*"id":"${later}"`));
  await expect.poll(async () => (await left.getProperties()).approximateMessagesCount).toBe(2);
  expect(await queues.getQueueClient(`${name}-poison`).exists()).toBe(false);
  expect(host.lines.filter((line) => line.includes(failed) && line.includes('SEEN'))).toHaveLength(1);
});

test('one of two hosts fires a timer; when it stops, it exits with 0 and the other takes over', async () => {
  const winner = await Promise.race(hosts.map((host) => host.line(/SEEN timer/).then(() => host)));
  const other = hosts.find((host) => host !== winner);
  expect(other?.lines.filter((line) => /SEEN timer/.test(line))).toEqual([]);
  winner.kill('SIGINT');
  const code = await winner.exited;
  // Without signals it dies at once and releases nothing: the other waits until its lease expires.
  expect(code).toBe(noSignals ? null : 0);
  expect(winner.lines.includes('SEEN hook "appTerminate"')).toBe(!noSignals);
  const [, timer = ''] = (await other?.line(/SEEN timer (.*)/)) ?? [];
  expect(JSON.parse(timer)).toEqual({
    schedule: { adjustForDST: true },
    scheduleStatus: null,
    isPastDue: false,
  });
  const locks = BlobServiceClient.fromConnectionString(inject('azurite')).getContainerClient(
    'azure-webjobs-hosts',
  );
  const lock = locks.getBlobClient(`locks/${hostId}/Host.Functions.everySecond.Listener`);
  expect((await lock.getProperties()).leaseState).toBe('leased');
});

test('--no-timer-singleton: fires alongside the holder of the lease', async () => {
  await using third = await start('c', ['--no-timer-singleton']);
  await third.line(/SEEN timer/);
});
