import type { Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { fromCosmos, runBatch } from '../../src/documents/cosmosDocuments.ts';

/** A container whose every transaction gets this answer. */
function answering(answer: () => unknown): Container {
  return { items: { batch: async () => answer() } } as unknown as Container;
}

test('an operation for which there is no room: the partition is full, and no role is missing', async () => {
  const container = answering(() => ({ result: [{ statusCode: 424 }, { statusCode: 403 }] }));
  const operations = [
    { operationType: 'Delete' as const, id: 'a' },
    { operationType: 'Delete' as const, id: 'b' },
  ];
  await expect(runBatch(container, '07', operations)).rejects.toMatchObject({
    name: 'PartitionFull',
    reason: 'full',
    message: 'partition 07 is full: Cosmos DB keeps at most 20 GB in one',
  });
});

test('a request with the substatus of a full partition, also as the cause that the SDK wraps', async () => {
  const error = Object.assign(new Error('Partition key reached maximum size'), {
    code: 403,
    substatus: 1014,
  });
  for (const thrown of [error, new Error('batch', { cause: error })]) {
    await expect(fromCosmos(() => Promise.reject(thrown))).rejects.toMatchObject({
      name: 'StoreAway',
      reason: 'full',
    });
  }
});

test('any other 403 is a denied access', async () => {
  for (const substatus of [undefined, 5300]) {
    const error = Object.assign(new Error('Forbidden'), { code: 403, substatus });
    const denied = { name: 'StoreAway', reason: 'accessDenied' };
    await expect(fromCosmos(() => Promise.reject(error))).rejects.toMatchObject(denied);
  }
});
