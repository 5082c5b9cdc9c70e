import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CosmosClient } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';
import { until } from '../../../../test/support/until.ts';
import { startAzurite } from '../../src/azurite.ts';
import { startCosmos } from '../../src/cosmos/index.ts';
import { outputMessages } from '../../src/functionsHost/outputs/outputMessages.ts';
import { startServiceBus } from '../../src/serviceBus/index.ts';

const app = fileURLToPath(new URL('fixtures/outputApp', import.meta.url));
const stack = new AsyncDisposableStack();
let host: HostProcess;
let bus: ServiceBusClient;
let queues: QueueServiceClient;
let documents: CosmosClient;

beforeAll(async () => {
  const azurite = stack.use(await startAzurite({ collectGarbage: false }));
  const cosmos = stack.use(await startCosmos());
  documents = new CosmosClient(cosmos.connectionString);
  stack.defer(() => documents.dispose());
  const serviceBus = await startServiceBus({ config: join(app, 'queues.json') });
  stack.defer(() => serviceBus.stop());
  bus = new ServiceBusClient(serviceBus.connectionString);
  stack.defer(() => bus.close());
  queues = QueueServiceClient.fromConnectionString(azurite.connectionString);
  await queues.createQueue('incoming');
  host = stack.use(
    await startHostProcess({
      app,
      env: {
        AzureWebJobsStorage: azurite.connectionString,
        ServiceBus: serviceBus.connectionString,
        Cosmos: cosmos.connectionString,
        OUT_QUEUE: 'Out-Queue',
      },
    }),
  );
});
afterAll(() => stack.disposeAsync());

const call = (path: string, body?: object) =>
  fetch(
    `${host.address}/api/${path}`,
    body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
  );

/** The messages of the storage queue, decoded. */
async function inStorage(): Promise<string[]> {
  const queue = queues.getQueueClient('out-queue');
  const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
  for (const { messageId, popReceipt } of receivedMessageItems)
    await queue.deleteMessage(messageId, popReceipt);
  return receivedMessageItems.map(({ messageText }) => Buffer.from(messageText, 'base64').toString());
}

/** Takes `count` messages of the Service Bus queue. */
async function onServiceBus(count: number) {
  const receiver = bus.createReceiver('out', { receiveMode: 'receiveAndDelete' });
  const found: { body: unknown; contentType: string | undefined }[] = [];
  await until(
    async () => {
      const messages = await receiver.receiveMessages(count - found.length, { maxWaitTimeInMs: 1_000 });
      found.push(...messages.map(({ body, contentType }) => ({ body: body as unknown, contentType })));
      return found.length;
    },
    (length) => length >= count,
  );
  await receiver.close();
  return found;
}

test('text goes as it is, an object as JSON, and a queue is created with its first message', async () => {
  const answer = await call('both', { storage: 'plain', serviceBus: { id: 1 } });
  expect(await answer.text()).toBe('sent');
  expect(await inStorage()).toEqual(['plain']);
  expect(await onServiceBus(1)).toEqual([{ body: { id: 1 }, contentType: 'application/json' }]);
});

test('documents are upserted, an array as one each, and the container is created with the first', async () => {
  await call('documents', {
    documents: [
      { id: '1', kind: 'a' },
      { id: '2', kind: 'b' },
    ],
  });
  await call('documents', { documents: { id: '1', kind: 'a', again: true } });
  await call('documents', {});
  const container = documents.database('shop').container('orders');
  const { resources } = await container.items.query('SELECT c.id, c.kind, c.again FROM c').fetchAll();
  expect(resources).toEqual([
    { id: '1', kind: 'a', again: true },
    { id: '2', kind: 'b' },
  ]);
  expect((await container.read()).resource?.partitionKey?.paths).toEqual(['/kind']);
  expect((await call('documents', { documents: { id: 'a/b' } })).status).toBe(500);
});

test('documents are inputs: one by id and key, those of a query, by values of the trigger', async () => {
  await call('documents', {
    documents: [
      { id: 'x1', kind: 'x' },
      { id: 'x2', kind: 'x' },
    ],
  });
  const read = async (path: string) => (await call(path)).json();
  expect(await read('documents/x/x1')).toMatchObject({ found: { id: 'x1', kind: 'x' } });
  expect(await read('documents/x/none')).toEqual({ found: null });
  expect(await read('someDocuments?kind=x')).toEqual(['x1', 'x2']);
  // The value is a parameter, not a part of the query.
  expect(await read("someDocuments?kind=x' OR true --")).toEqual([]);
  expect((await call('someDocuments')).status).toBe(500);
  await host.line(/someDocuments.*the trigger has no value for \{Query\.kind\}/);
  await queues.createQueue('ids');
  await queues.getQueueClient('ids').sendMessage(Buffer.from('{"id":"x2","kind":"x"}').toString('base64'));
  expect(await onServiceBus(1)).toMatchObject([{ body: { read: { id: 'x2' } } }]);
});

test('an array becomes one message each', async () => {
  await call('both', { storage: [{ id: 1 }, 'two'], serviceBus: [{ id: 1 }, { id: 2 }] });
  expect(await inStorage()).toEqual(['{"id":1}', 'two']);
  expect((await onServiceBus(2)).map(({ body }) => body)).toEqual([{ id: 1 }, { id: 2 }]);
});

test('an output that is not set sends nothing', async () => {
  await call('both', { storage: 'only this' });
  expect(await inStorage()).toEqual(['only this']);
  const receiver = bus.createReceiver('out');
  expect(await receiver.peekMessages(1)).toEqual([]);
  await receiver.close();
});

test('the return value goes where `return` says', async () => {
  await queues.getQueueClient('incoming').sendMessage(Buffer.from('{"n":7}').toString('base64'));
  expect(await onServiceBus(1)).toMatchObject([{ body: { forwarded: { n: 7 } } }]);
});

test('an output that cannot be sent fails the invocation', async () => {
  expect((await call('fails')).status).toBe(500);
  await host.line(/fails.*failed/);
});

describe('messages of a value', () => {
  test.each([
    [undefined, []],
    [{ json: 'null' }, []],
    [{ string: '' }, ['']],
    [{ string: '[1,2]' }, ['[1,2]']],
    [{ int: 5 }, ['5']],
    [{ json: '[]' }, []],
    [{ json: '[[1],2]' }, ['[1]', '2']],
    [{ bytes: Buffer.from('x') }, ['x']],
  ])('%j', (data, expected) => {
    expect(outputMessages(data).map(({ bytes }) => bytes.toString())).toEqual(expected);
  });
});
