import { describe, expect, test } from 'vitest';
import { memoryDocuments } from '../../../../test/memory/memoryDocuments.ts';
import { memorySubject } from '../../../../test/support/memorySubject.ts';
import { documentStoreContract } from '../../src/testing/documents/documentStoreContract.ts';

describe('documents in memory', () => documentStoreContract(memorySubject));

test('a document with a ttl is gone that many seconds after its last write', async () => {
  let now = 5_400;
  const documents = memoryDocuments({ now: () => now });
  const document = { id: 'a', shard: '00', ttl: 10 };
  await documents.transact('00', [{ kind: 'create', document }]);
  now = 14_999;
  expect(await documents.read('00', ['a'])).toHaveLength(1);
  await documents.transact('00', [{ kind: 'patch', id: 'a', set: { n: 1 } }]);
  now = 23_999;
  expect(await documents.query(() => true)).toHaveLength(1);
  now = 24_000;
  expect(await documents.query(() => true)).toEqual([]);
  expect(await documents.read('00', ['a'])).toEqual([]);
  expect(await documents.transact('00', [{ kind: 'create', document }])).toEqual({ kind: 'committed' });
});
