import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ServiceBusAdministrationClient, ServiceBusClient } from '@azure/service-bus';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { certificateIn } from '../../src/certificate.ts';
import { type ServiceBus, startServiceBus } from '../../src/serviceBus/index.ts';

async function open(data?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'administration-'));
  onTestFinished(() => removeFolder(folder));
  const tls = certificateIn(folder);
  setDefaultCACertificates([...getCACertificates('default'), tls.cert]);
  const queues = { given: { MaxDeliveryCount: 3 } };
  const bus = await startServiceBus({ tls, queues, ...(data === undefined ? {} : { data }) });
  onTestFinished(() => bus.stop());
  return { bus, admin: new ServiceBusAdministrationClient(bus.administration) };
}

async function send({ connectionString }: ServiceBus, to: string): Promise<void> {
  const client = new ServiceBusClient(connectionString);
  await client.createSender(to).sendMessages({ body: 1 });
  await client.close();
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function receiversOf({ localAddress }: ServiceBus): Promise<Record<string, number>> {
  const answer = await fetch(`${localAddress}/_local/stats`);
  const { queues } = (await answer.json()) as { queues: Record<string, { receivers: number }> };
  return Object.fromEntries(Object.entries(queues).map(([name, { receivers }]) => [name, receivers]));
}

test('queues: created, read, listed in pages, updated, deleted', async () => {
  const { admin, bus } = await open();
  const created = await admin.createQueue('orders', {
    lockDuration: 'PT10S',
    requiresSession: true,
    userMetadata: '<note> & more',
    forwardDeadLetteredMessagesTo: 'given',
  });
  expect(created).toMatchObject({
    name: 'orders',
    lockDuration: 'PT10S',
    requiresSession: true,
    maxDeliveryCount: 10,
    userMetadata: '<note> & more',
    forwardDeadLetteredMessagesTo: expect.stringMatching(/\/given$/),
    status: 'Active',
  });
  expect(await admin.getQueue('orders')).toEqual(created);
  expect(await admin.queueExists('orders')).toBe(true);
  expect(await admin.queueExists('other')).toBe(false);
  await expect(admin.createQueue('orders')).rejects.toMatchObject({
    code: 'MessageEntityAlreadyExistsError',
  });
  await expect(admin.getQueue('other')).rejects.toMatchObject({ code: 'MessageEntityNotFoundError' });
  await expect(admin.createQueue('bad', { lockDuration: 'PT1H' })).rejects.toThrow(/LockDuration/);
  await expect(admin.createQueue('bad', { forwardTo: 'nowhere' })).rejects.toThrow(/no queue or topic/);
  const forwards = await admin.createQueue('forwards', { forwardTo: 'SB://LOCALHOST/GIVEN' });
  expect(forwards.forwardTo).toBe('sb://localhost/GIVEN');
  await send(bus, 'forwards');
  expect((await admin.getQueueRuntimeProperties('given')).activeMessageCount).toBe(1);
  await admin.deleteQueue('forwards');
  await expect(admin.createQueue('bad', { status: 'Disabled' })).rejects.toMatchObject({ statusCode: 501 });
  await admin.updateQueue({ ...created, maxDeliveryCount: 4, lockDuration: 'PT5M' });
  const client = new ServiceBusClient(bus.connectionString);
  const session = await client.acceptSession('orders', 'a');
  expect(Number(session.sessionLockedUntilUtc) - Date.now()).toBeGreaterThan(4 * 60_000);
  await client.close();
  expect((await admin.getQueue('orders')).maxDeliveryCount).toBe(4);
  await expect(admin.updateQueue({ ...created, requiresSession: false })).rejects.toThrow(
    /cannot be changed/,
  );
  for (const name of ['q1', 'q2', 'q3']) await admin.createQueue(name);
  const pages = await all(admin.listQueues().byPage({ maxPageSize: 2 }));
  expect(pages.map((page) => page.map(({ name }) => name))).toEqual([
    ['given', 'orders'],
    ['q1', 'q2'],
    ['q3'],
  ]);
  await admin.deleteQueue('q1');
  await expect(admin.deleteQueue('q1')).rejects.toMatchObject({ code: 'MessageEntityNotFoundError' });
  expect((await admin.getNamespaceProperties()).messagingSku).toBe('Standard');
});

test('what is created with a name alone has the service’s defaults; one of Config.json has the emulator’s', async () => {
  const { admin, bus } = await open();
  const unlimited = { defaultMessageTimeToLive: 'P10675199DT2H48M5.4775807S' };
  const queue = await admin.createQueue('q');
  expect(queue).toMatchObject({ ...unlimited, duplicateDetectionHistoryTimeWindow: 'PT10M' });
  await admin.createTopic('t');
  expect(await admin.createSubscription('t', 's')).toMatchObject(unlimited);
  await send(bus, 't');
  expect((await admin.getSubscriptionRuntimeProperties('t', 's')).activeMessageCount).toBe(1);
  expect(await admin.updateQueue({ ...queue, maxDeliveryCount: 3 })).toMatchObject(unlimited);
  expect((await admin.getQueue('given')).defaultMessageTimeToLive).toBe('P14D');
  await expect(admin.createQueue('large', { maxMessageSizeInKilobytes: 1023 })).rejects.toThrow(
    /must be between 1024 and 102400/,
  );
});

test('deleting an entity ends the links to it, and no others', async () => {
  const { admin, bus } = await open();
  await admin.createQueue('gone');
  const client = new ServiceBusClient(bus.connectionString, { retryOptions: { maxRetries: 0 } });
  onTestFinished(() => client.close());
  const seen: unknown[] = [];
  const kept = client.createReceiver('given').subscribe({
    processMessage: async ({ body }) => void seen.push(body),
    processError: async ({ error }) => void seen.push(error),
  });
  const ended = new Promise<Error>((resolve) => {
    client.createReceiver('gone').subscribe({
      processMessage: async () => {},
      processError: async ({ error }) => resolve(error),
    });
  });
  await expect.poll(() => receiversOf(bus)).toEqual({ given: 1, gone: 1 });
  await admin.deleteQueue('gone');
  expect(await ended).toMatchObject({ code: 'MessagingEntityNotFound' });
  await client.createSender('given').sendMessages({ body: 'still here' });
  await expect.poll(() => seen).toEqual(['still here']);
  expect(await receiversOf(bus)).toEqual({ given: 1 });
  await kept.close();
});

test('topics, subscriptions and rules of both kinds', async () => {
  const { admin } = await open();
  await expect(admin.createSubscription('prices', 'all')).rejects.toMatchObject({ statusCode: 404 });
  await admin.createTopic('prices', { requiresDuplicateDetection: true });
  expect(await admin.createSubscription('prices', 'all')).toMatchObject({
    topicName: 'prices',
    subscriptionName: 'all',
    maxDeliveryCount: 10,
  });
  expect((await all(admin.listRules('prices', 'all'))).map(({ name }) => name)).toEqual(['$Default']);
  await admin.createSubscription('prices', 'some', {
    defaultRuleOptions: {
      name: 'high',
      filter: { sqlExpression: 'price > @limit', sqlParameters: { '@limit': 10 } },
    },
  });
  const filter = { subject: 'gold', applicationProperties: { pure: true, grams: 5, mint: 'x' } };
  await admin.createRule('prices', 'some', 'gold', filter);
  expect(await all(admin.listRules('prices', 'some'))).toMatchObject([
    { name: 'high', filter: { sqlExpression: 'price > @limit', sqlParameters: { '@limit': 10 } } },
    { name: 'gold', filter },
  ]);
  await expect(admin.createRule('prices', 'some', 'bad', { sqlExpression: 'price >' })).rejects.toMatchObject(
    {
      statusCode: 400,
    },
  );
  const rule = await admin.getRule('prices', 'some', 'high');
  await admin.updateRule('prices', 'some', { ...rule, filter: { sqlExpression: 'price > 20' } });
  await admin.deleteRule('prices', 'some', 'gold');
  expect(await all(admin.listRules('prices', 'some'))).toMatchObject([
    { name: 'high', filter: { sqlExpression: 'price > 20' } },
  ]);
  const at = new Date('2030-01-01T00:00:00Z');
  const dated = { subject: 's', applicationProperties: { at } };
  await expect(admin.createRule('prices', 'some', 'high', dated)).rejects.toThrow(
    /^SubCode=40900.*already exists/,
  );
  const acts = await admin.createRule('prices', 'some', 'acts', dated, { sqlExpression: 'SET a = 1' });
  expect(acts).toMatchObject({ filter: dated, action: { sqlExpression: 'SET a = 1' } });
  expect((await all(admin.listSubscriptions('prices'))).map((each) => each.subscriptionName)).toEqual([
    'all',
    'some',
  ]);
  expect((await admin.getTopicRuntimeProperties('prices')).subscriptionCount).toBe(2);
  await admin.deleteTopic('prices');
  expect(await admin.subscriptionExists('prices', 'all')).toBe(false);
});

test('what was created takes messages at once, is counted, and is there after a restart with its messages', async () => {
  const data = mkdtempSync(join(tmpdir(), 'administration-data-'));
  onTestFinished(() => removeFolder(data));
  const first = await open(data);
  await first.admin.createTopic('t');
  await first.admin.createSubscription('t', 's');
  await first.admin.createSubscription('t', 'none');
  await first.admin.deleteRule('t', 'none', '$Default');
  await first.admin.createQueue('gone');
  await send(first.bus, 't');
  await send(first.bus, 'gone');
  expect(await first.admin.getSubscriptionRuntimeProperties('t', 's')).toMatchObject({
    activeMessageCount: 1,
    deadLetterMessageCount: 0,
    totalMessageCount: 1,
  });
  await first.admin.deleteQueue('gone');
  await first.bus.stop();
  const second = await open(data);
  expect(await second.admin.getSubscriptionRuntimeProperties('t', 's')).toMatchObject({
    activeMessageCount: 1,
  });
  await send(second.bus, 't');
  const inNone = await second.admin.getSubscriptionRuntimeProperties('t', 'none');
  expect(inNone.totalMessageCount).toBe(0);
  expect(await second.admin.queueExists('gone')).toBe(false);
  await second.admin.createQueue('gone');
  expect((await second.admin.getQueueRuntimeProperties('gone')).totalMessageCount).toBe(0);
});

test('a wrong key is refused, a token of Entra taken', async () => {
  const { bus } = await open();
  const wrong = bus.administration.replace(/SharedAccessKey=.*/, 'SharedAccessKey=wrong');
  await expect(new ServiceBusAdministrationClient(wrong).getQueue('given')).rejects.toMatchObject({
    code: 'UnauthorizedRequestError',
  });
  const credential = { getToken: async () => ({ token: 'any', expiresOnTimestamp: Date.now() + 3_600_000 }) };
  const { host } = new URL(bus.localAddress);
  const admin = new ServiceBusAdministrationClient(host, credential);
  expect((await admin.getQueue('given')).maxDeliveryCount).toBe(3);
});
