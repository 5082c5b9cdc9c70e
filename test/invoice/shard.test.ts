import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DocumentStore } from '../../packages/jobs/src/documents/documentStore.ts';
import { ShardsChanged, shardNames, shardOf, shardsCheck, shardsOfGroup } from '../../src/invoice/shard.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';

test('the shard of an id never changes', () => {
  expect(['inv-1', 'inv-2', 'Rechnung Nº 7'].map((id) => shardOf(id, 16))).toEqual(['0e', '05', '04']);
});

test('every id maps to one of the shards', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 256 }), (id, shards) => {
      expect(shardNames(shards)).toContain(shardOf(id, shards));
    }),
  );
});

test('the groups split the shards, each shard in exactly one group', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), fc.integer({ min: 1, max: 16 }), (shards, groups) => {
      const all = Array.from({ length: groups }, (_, group) =>
        shardsOfGroup(group, { shards, groups }),
      ).flat();
      expect(all.toSorted()).toEqual(shardNames(shards).toSorted());
    }),
  );
});

describe('a shard count that can be neither recorded nor read back', () => {
  const noAnswer = { name: 'StoreAway', reason: 'noAnswer' };

  test.each(['before', 'after'] as const)(
    '(%s the write, no answer) is refused, and the next call asks again',
    async (lost) => {
      const faults = [lost];
      const asked = shardsCheck(memoryDocuments({ fault: () => faults.shift() }), 16);
      await expect(asked()).rejects.toMatchObject(noAnswer);
      await expect(asked()).resolves.toBeUndefined();
    },
  );

  test('(recorded, then gone) is refused, and the next call asks again', async () => {
    const memory = memoryDocuments();
    let hidden = 2;
    const documents: DocumentStore = {
      transact: (...args) => memory.transact(...args),
      read: async (...args) => (hidden-- > 0 ? [] : memory.read(...args)),
    };
    await shardsCheck(memory, 8)();
    const asked = shardsCheck(documents, 16);
    await expect(asked()).rejects.toMatchObject(noAnswer);
    await expect(asked()).rejects.toThrow(ShardsChanged);
  });
});
