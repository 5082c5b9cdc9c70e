import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shardNames, shardOf, shardsOfGroup } from '../../src/invoice/shard.ts';

test('the shard of an id never changes', () => {
  expect(['inv-1', 'inv-2', 'Rechnung Nº 7'].map((id) => shardOf(id, 16))).toEqual(['0e', '05', '04']);
});

test('every id has one of the shards', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 256 }), (id, shards) => {
      expect(shardNames(shards)).toContain(shardOf(id, shards));
    }),
  );
});

test('the groups share the shards out, each shard to one group', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), fc.integer({ min: 1, max: 16 }), (shards, groups) => {
      const all = Array.from({ length: groups }, (_, group) =>
        shardsOfGroup(group, { shards, groups }),
      ).flat();
      expect(all.toSorted()).toEqual(shardNames(shards).toSorted());
    }),
  );
});
