import { randomUUID } from 'node:crypto';
import { BulkOperationType, type Container, CosmosClient, type OperationInput } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blobContainers, queues, serviceBusQueues } from '../src/platform/azureNames.ts';
import { containers, databaseName } from '../src/platform/cosmosContainers.ts';
import { startLocalCloud } from './support/localCloud.ts';
import { deviates, official, officialAddresses } from './support/officialEmulators.ts';

// The behaviour that the app relies on the services for, and nothing else. Runs against the stand-ins, or
// with PAYONCE_TEST_CLOUD=official against the emulators in compose.yaml, which
// `npm run cloud -- emulators` prepares.

const stack = new AsyncDisposableStack();
const shard = randomUUID();
let invoices: Container;
let serviceBus: ServiceBusClient;
let storage: string;

beforeAll(async () => {
  const addresses = official ? officialAddresses() : stack.use(await startLocalCloud());
  const cosmos = new CosmosClient(addresses.cosmos);
  stack.defer(() => cosmos.dispose());
  invoices = cosmos.database(databaseName).container(containers.invoices.name);
  serviceBus = new ServiceBusClient(addresses.serviceBus);
  stack.defer(() => serviceBus.close());
  storage = addresses.storage;
});

afterAll(() => stack.disposeAsync());

describe('Cosmos DB', () => {
  const create = (id: string, more: object = {}): OperationInput => ({
    operationType: BulkOperationType.Create,
    resourceBody: { id, shard, type: 'contract', ...more },
  });
  const codesOf = async (operations: OperationInput[]) => {
    const { result } = await invoices.items.batch(operations, shard);
    return (result ?? []).map(({ statusCode }) => statusCode);
  };

  test('a batch applies all its operations', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    expect(await codesOf([create(a), create(b)])).toEqual([201, 201]);
    expect((await invoices.item(b, shard).read()).statusCode).toBe(200);
  });

  test('a batch with one refused operation writes nothing and names the culprit', async () => {
    const [taken, other] = [randomUUID(), randomUUID()];
    await invoices.items.create({ id: taken, shard });
    expect(await codesOf([create(other), create(taken)])).toEqual([424, 409]);
    expect((await invoices.item(other, shard).read()).statusCode).toBe(404);
  });

  test(
    'of two concurrent batches that create the same item, one is refused and writes nothing',
    deviates('races', async () => {
      const [same, one, other] = [randomUUID(), randomUUID(), randomUUID()];
      const both = await Promise.all([one, other].map((id) => codesOf([create(same), create(id)])));
      expect(both.map((codes) => codes.join()).toSorted()).toEqual(['201,201', '409,424']);
      const left = await Promise.all([one, other].map((id) => invoices.item(id, shard).read()));
      expect(left.map(({ statusCode }) => `${statusCode}`).toSorted()).toEqual(['200', '404']);
    }),
  );

  test(
    'a batched patch on a stale ETag is refused with 412',
    deviates('staleVersions', async () => {
      const id = randomUUID();
      const { resource, etag } = await invoices.items.create({ id, shard, n: 1 });
      expect(resource?.n).toBe(1);
      const set: OperationInput = {
        operationType: BulkOperationType.Patch,
        id,
        ifMatch: etag,
        resourceBody: { operations: [{ op: 'set', path: '/n', value: 2 }] },
      };
      expect(await codesOf([set])).toEqual([200]);
      expect(await codesOf([set])).toEqual([412]);
    }),
  );

  test(
    'a patch whose condition does not hold is refused with 412',
    deviates('conditions', async () => {
      const id = randomUUID();
      await invoices.items.create({ id, shard, status: 'paid' });
      const patch = (status: string) =>
        invoices.item(id, shard).patch({
          condition: `from c where c.status = '${status}'`,
          operations: [{ op: 'set', path: '/seen', value: true }],
        });
      await expect(patch('claimed')).rejects.toMatchObject({ code: 412 });
      expect((await patch('paid')).resource).toMatchObject({ seen: true });
    }),
  );

  test('a single-partition query filters and sorts by an indexed field', async () => {
    const type = `contract-${randomUUID()}`;
    for (const actionableAt of ['2024-03-01', '2024-01-01', '2024-02-01'])
      await invoices.items.create({ id: randomUUID(), shard, type, actionableAt });
    const { resources } = await invoices.items
      .query(
        {
          query:
            'SELECT VALUE c.actionableAt FROM c WHERE c.type = @type AND c.actionableAt <= @now ORDER BY c.actionableAt',
          parameters: [
            { name: '@type', value: type },
            { name: '@now', value: '2024-02-15' },
          ],
        },
        { partitionKey: shard },
      )
      .fetchAll();
    expect(resources).toEqual(['2024-01-01', '2024-02-01']);
  });
});

describe('Service Bus', () => {
  const queue = serviceBusQueues.paymentCommands;

  /** Receives until the message with this id arrives, and completes leftovers of other tests on the way. */
  async function receive(messageId: string) {
    const receiver = serviceBus.createReceiver(queue);
    for (;;) {
      const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
      if (message === undefined) throw new Error(`message ${messageId} did not arrive within 10 s`);
      if (message.messageId === messageId) return { receiver, message };
      await receiver.completeMessage(message);
    }
  }

  test('an abandoned message is redelivered, a completed one is not', async () => {
    const messageId = randomUUID();
    await using sender = disposable(serviceBus.createSender(queue));
    await sender.value.sendMessages({ messageId, body: { n: 1 } });
    const first = await receive(messageId);
    expect(first.message.body).toEqual({ n: 1 });
    await first.receiver.abandonMessage(first.message);
    const second = await receive(messageId);
    expect(second.message.deliveryCount).toBe(1);
    await second.receiver.completeMessage(second.message);
    expect(await second.receiver.receiveMessages(1, { maxWaitTimeInMs: 500 })).toEqual([]);
  });

  test('a duplicate message id is dropped', async () => {
    const messageId = randomUUID();
    await using sender = disposable(serviceBus.createSender(queue));
    await sender.value.sendMessages([{ messageId, body: 1 }]);
    await sender.value.sendMessages([{ messageId, body: 1 }]);
    const { receiver, message } = await receive(messageId);
    await receiver.completeMessage(message);
    expect(await receiver.receiveMessages(1, { maxWaitTimeInMs: 500 })).toEqual([]);
  });

  test('a dead-lettered message keeps its reason', async () => {
    const messageId = randomUUID();
    await using sender = disposable(serviceBus.createSender(queue));
    await sender.value.sendMessages({ messageId, body: 'what is this' });
    const { receiver, message } = await receive(messageId);
    await receiver.deadLetterMessage(message, {
      deadLetterReason: 'unreadable',
      deadLetterErrorDescription: 'no batch',
    });
    const deadLetters = serviceBus.createReceiver(queue, { subQueueType: 'deadLetter' });
    const [dead] = await deadLetters.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
    expect(dead).toMatchObject({ messageId, deadLetterReason: 'unreadable' });
    if (dead !== undefined) await deadLetters.completeMessage(dead);
  });
});

describe('Storage', () => {
  test('only one holder has the lease, and the same lease id may acquire it again', async () => {
    const blob = BlobServiceClient.fromConnectionString(storage)
      .getContainerClient(blobContainers.locks)
      .getBlockBlobClient(randomUUID());
    await blob.upload('', 0);
    const mine = blob.getBlobLeaseClient(randomUUID());
    await mine.acquireLease(15);
    expect((await mine.acquireLease(15)).leaseId).toBe(mine.leaseId);
    await expect(blob.getBlobLeaseClient(randomUUID()).acquireLease(15)).rejects.toMatchObject({
      statusCode: 409,
    });
    await expect(blob.setMetadata({ fence: '1' })).rejects.toMatchObject({ statusCode: 412 });
    await blob.setMetadata({ fence: '1' }, { conditions: { leaseId: mine.leaseId } });
    await mine.releaseLease();
  });

  test('the queues exist', async () => {
    const service = QueueServiceClient.fromConnectionString(storage);
    for (const name of Object.values(queues)) expect(await service.getQueueClient(name).exists()).toBe(true);
  });
});

function disposable<T extends { close(): Promise<void> }>(value: T) {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}
