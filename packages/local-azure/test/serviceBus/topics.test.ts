import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient, type ServiceBusMessage, type ServiceBusReceivedMessage } from '@azure/service-bus';
import { expect, onTestFinished, test } from 'vitest';
import { manualBrokerClock } from '../../../../test/support/manualBrokerClock.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { type ServiceBusOptions, startServiceBus } from '../../src/serviceBus/index.ts';

const sql = (SqlExpression: string) => ({
  Name: 'r',
  Properties: { FilterType: 'Sql', SqlFilter: { SqlExpression } },
});
const correlation = (CorrelationFilter: object) => ({
  Name: 'r',
  Properties: { FilterType: 'Correlation', CorrelationFilter },
});
const namespaceOf = (Topics: object[], Queues: object[] = []) => ({
  UserConfig: { Namespaces: [{ Name: 'local', Topics, Queues }] },
});

async function open(options: ServiceBusOptions) {
  const bus = await startServiceBus(options);
  const client = new ServiceBusClient(bus.connectionString, { retryOptions: { maxRetries: 0 } });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= client.close().then(() => bus.stop()));
  onTestFinished(close);
  const send = async (to: string, ...messages: ServiceBusMessage[]) => {
    const sender = client.createSender(to);
    await sender.sendMessages(messages);
    await sender.close();
  };
  /** Takes what is ready in a queue or subscription. */
  const take = async (from: string, subQueueType?: 'deadLetter') => {
    const receiver = client.createReceiver(from, {
      receiveMode: 'receiveAndDelete',
      ...(subQueueType === undefined ? {} : { subQueueType }),
    });
    const ready = (await receiver.peekMessages(20)).length;
    const messages: ServiceBusReceivedMessage[] = [];
    while (messages.length < ready)
      messages.push(...(await receiver.receiveMessages(ready - messages.length)));
    await receiver.close();
    return messages;
  };
  const bodies = async (from: string) => (await take(from)).map(({ body }) => body as unknown);
  return { bus, client, close, send, take, bodies };
}

test('each subscription gets what its rules take, with a lock and dead letters of its own', async () => {
  const config = namespaceOf([
    {
      Name: 'orders',
      Subscriptions: [
        { Name: 'all', Properties: { MaxDeliveryCount: 1 } },
        { Name: 'large', Rules: [sql("quantity > 100 OR sys.Label = 'large'")] },
        { Name: 'red', Rules: [correlation({ Label: 'paint', Properties: { color: 'red', rush: true } })] },
        { Name: 'none', Rules: [sql('1=0')] },
        {
          Name: 'either',
          Rules: [
            { ...sql('quantity = 1'), Name: 'a' },
            { ...sql('quantity < 5'), Name: 'b' },
          ],
        },
      ],
    },
  ]);
  const { client, send, bodies, take } = await open({ config });
  await send(
    'orders',
    { body: 'a', applicationProperties: { quantity: 101 } },
    { body: 'b', subject: 'large' },
    { body: 'c', subject: 'paint', applicationProperties: { color: 'red', rush: true, quantity: 1 } },
    { body: 'd', subject: 'paint', applicationProperties: { color: 'red' } },
  );
  expect(await bodies('orders/Subscriptions/large')).toEqual(['a', 'b']);
  expect(await bodies('orders/Subscriptions/red')).toEqual(['c']);
  expect(await bodies('orders/Subscriptions/none')).toEqual([]);
  expect(await bodies('orders/Subscriptions/either')).toEqual(['c']);
  const receiver = client.createReceiver('orders', 'all');
  const [first, ...others] = await receiver.receiveMessages(4);
  expect([first, ...others].map((message) => message?.body)).toEqual(['a', 'b', 'c', 'd']);
  if (first !== undefined) await receiver.abandonMessage(first);
  for (const message of others) await receiver.completeMessage(message);
  const [dead] = await take('orders/Subscriptions/all', 'deadLetter');
  expect(dead).toMatchObject({
    body: 'a',
    deadLetterReason: 'MaxDeliveryCountExceeded',
    deadLetterSource: 'orders/Subscriptions/all',
  });
});

test('an action changes a copy of the message; rules without one share a copy', async () => {
  const rule = (Name: string, where: string, SqlExpression?: string) => ({
    Name,
    Properties: {
      ...sql(where).Properties,
      ...(SqlExpression === undefined ? {} : { Action: { SqlExpression, Parameters: { '@n': 7 } } }),
    },
  });
  const config = namespaceOf([
    {
      Name: 't',
      Subscriptions: [
        {
          Name: 's',
          Rules: [
            rule('plain', '1=1'),
            rule('same', 'price > 1'),
            rule(
              'changed',
              'price > 1',
              "SET Price = price * 2; SET total = price + @n; REMOVE note; SET sys.Label = 'dear'; SET sys.To='x' REMOVE sys.ReplyTo",
            ),
          ],
        },
        {
          Name: 'sessions',
          Properties: { RequiresSession: true },
          Rules: [rule('keyed', '1=1', "SET sys.SessionId = 'a'")],
        },
      ],
    },
  ]);
  const { client, send, take } = await open({ config });
  const applicationProperties = { price: 5, note: 'n', kept: true };
  await send('t', {
    body: { deep: [1] },
    messageId: 'm',
    subject: 'cheap',
    replyTo: 'r',
    applicationProperties,
  });
  const [plain, changed, ...others] = await take('t/Subscriptions/s');
  expect(others).toEqual([]);
  expect(plain).toMatchObject({ subject: 'cheap', replyTo: 'r', applicationProperties });
  expect(changed).toMatchObject({ body: { deep: [1] }, messageId: 'm', subject: 'dear', to: 'x' });
  expect(changed?.replyTo).toBeUndefined();
  expect(changed?.applicationProperties).toEqual({ price: 10, total: 17, kept: true, RuleName: 'changed' });
  const session = await client.acceptSession('t', 'sessions', 'a');
  expect(await session.receiveMessages(1)).toMatchObject([{ sessionId: 'a' }]);
});

test('a rule manager adds, lists and removes rules, which stay', async () => {
  const data = mkdtempSync(join(tmpdir(), 'topics-'));
  onTestFinished(() => removeFolder(data));
  const before = await open({ data, create: true });
  const rules = before.client.createRuleManager('t', 's');
  // Where there is no rule, the SDK lists one that is undefined.
  const all = async () => (await Array.fromAsync(rules.listRules())).filter((rule) => rule !== undefined);
  expect(await all()).toEqual([{ name: '$Default', filter: { sqlExpression: '1=1' }, action: {} }]);
  await rules.deleteRule('$Default');
  expect(await all()).toEqual([]);
  const applicationProperties = { n: 1, at: new Date('2030-01-01T00:00:00Z'), open: true };
  const filter = { correlationId: 'c', subject: 'l', applicationProperties };
  await rules.createRule('other', filter, { sqlExpression: "SET a = 'b'" });
  await rules.createRule('high', { sqlExpression: 'price > 10' });
  expect(await all()).toMatchObject([
    { name: 'high', filter: { sqlExpression: 'price > 10' } },
    { name: 'other', filter, action: { sqlExpression: "SET a = 'b'" } },
  ]);
  await expect(rules.createRule('High', { sqlExpression: '1=1' })).rejects.toThrow(
    /t\/Subscriptions\/s\/Rules\/High' already exists/,
  );
  await expect(rules.createRule('bad', { sqlExpression: 'price >' })).rejects.toThrow(/wrong at the end/);
  await expect(rules.deleteRule('none')).rejects.toThrow(/none' could not be found/);
  await before.send('t', { body: 1 }, { body: 2, correlationId: 'c', subject: 'l', applicationProperties });
  expect(await before.take('t/Subscriptions/s')).toMatchObject([
    { body: 2, applicationProperties: { a: 'b', RuleName: 'other' } },
  ]);
  await before.close();
  const after = await open({ data });
  await after.send('t', { body: 3, applicationProperties: { price: 11 } }, { body: 4 });
  expect(await after.bodies('t/Subscriptions/s')).toEqual([3]);
});

test('a topic drops duplicates, waits with what is scheduled, and cannot be received from', async () => {
  const clock = manualBrokerClock();
  const config = namespaceOf([
    { Name: 't', Properties: { RequiresDuplicateDetection: true }, Subscriptions: [{ Name: 's' }] },
  ]);
  const { client, send, bodies, take } = await open({ config, clock });
  await send('t', { body: 1, messageId: 'x' }, { body: 2, messageId: 'x' });
  const sender = client.createSender('t');
  const in5s = new Date(clock.now() + 5_000);
  await sender.scheduleMessages([{ body: 3 }], in5s);
  const [cancelled] = await sender.scheduleMessages([{ body: 4 }], in5s);
  if (cancelled !== undefined) await sender.cancelScheduledMessages(cancelled);
  expect(await bodies('t/Subscriptions/s')).toEqual([1]);
  clock.advance(5_000);
  expect(await take('t/Subscriptions/s')).toMatchObject([{ body: 3, state: 'scheduled' }]);
  await expect(client.createReceiver('t').receiveMessages(1)).rejects.toThrow(/is a topic/);
  await expect(send('t/Subscriptions/s', { body: 5 })).rejects.toThrow(/cannot be sent/);
  await expect(send('nowhere', { body: 5 })).rejects.toMatchObject({ code: 'MessagingEntityNotFound' });
});

test('a subscription with sessions; a message without one is its dead letter', async () => {
  const config = namespaceOf([
    { Name: 't', Subscriptions: [{ Name: 's', Properties: { RequiresSession: true } }] },
  ]);
  const { client, send, take } = await open({ config });
  await send('t', { body: 1, sessionId: 'a' }, { body: 2 });
  const session = await client.acceptSession('t', 's', 'a');
  expect((await session.receiveMessages(2, { maxWaitTimeInMs: 300 })).map(({ body }) => body)).toEqual([1]);
  expect(await take('t/Subscriptions/s', 'deadLetter')).toMatchObject([
    { body: 2, deadLetterReason: 'Session id is null.' },
  ]);
});

test('messages and dead letters are forwarded, from queue to topic to queue', async () => {
  const config = namespaceOf(
    [{ Name: 't', Subscriptions: [{ Name: 's', Properties: { ForwardTo: 'end' } }] }],
    [
      { Name: 'in', Properties: { ForwardTo: 't' } },
      { Name: 'end', Properties: { MaxDeliveryCount: 1, ForwardDeadLetteredMessagesTo: 'graves' } },
      { Name: 'graves' },
    ],
  );
  const { client, send, take } = await open({ config });
  await send('in', { body: 'x', subject: 'kept', applicationProperties: { n: 1 } });
  const receiver = client.createReceiver('end');
  const [message] = await receiver.receiveMessages(1);
  expect(message).toMatchObject({ body: 'x', subject: 'kept', applicationProperties: { n: 1 } });
  if (message !== undefined)
    await receiver.deadLetterMessage(message, { deadLetterReason: 'tired', deadLetterErrorDescription: '' });
  expect(await take('graves')).toMatchObject([
    { body: 'x', deadLetterReason: 'tired', deadLetterSource: 'end', applicationProperties: { n: 1 } },
  ]);
});

test('with data, subscriptions keep their messages across a restart, and none is doubled', async () => {
  const data = mkdtempSync(join(tmpdir(), 'topics-'));
  onTestFinished(() => removeFolder(data));
  const config = namespaceOf([{ Name: 't', Subscriptions: [{ Name: 'a' }, { Name: 'b' }] }]);
  const before = await open({ config, data });
  await before.send('t', { body: 1 }, { body: 2 });
  expect(await before.bodies('t/Subscriptions/a')).toEqual([1, 2]);
  await before.close();
  const after = await open({ config, data });
  await after.send('t', { body: 3 });
  expect(await after.bodies('t/Subscriptions/a')).toEqual([3]);
  expect(await after.bodies('t/Subscriptions/b')).toEqual([1, 2, 3]);
});

test('with create, what a client names is there, with sessions if it asks for one, and stays', async () => {
  const data = mkdtempSync(join(tmpdir(), 'topics-'));
  onTestFinished(() => removeFolder(data));
  const before = await open({ data, create: true });
  expect(await before.bodies('t/Subscriptions/s')).toEqual([]);
  await before.send('t', { body: 1 });
  await before.send('q', { body: 2 });
  await before.client.acceptSession('sessions', 'a');
  await before.send('sessions', { body: 3, sessionId: 'a' });
  await before.close();
  const after = await open({ data });
  expect(await after.bodies('t/Subscriptions/s')).toEqual([1]);
  expect(await after.bodies('q')).toEqual([2]);
  const session = await after.client.acceptSession('sessions', 'a');
  expect((await session.receiveMessages(1)).map(({ body }) => body)).toEqual([3]);
});
