import { describe, expect, test } from 'vitest';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { settleAsTheyCome } from '../../src/paying/payBatch.ts';

/** A clock whose sleeps end when the test tells them to. */
function heldClock() {
  const sleeping: (() => void)[] = [];
  return {
    clock: {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          sleeping.push(resolve);
          signal?.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    },
    elapse: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      for (const wake of sleeping.splice(0)) wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('settleAsTheyCome', () => {
  test('outcomes that arrive together are settled in one group', async () => {
    const { clock } = heldClock();
    const groups: number[][] = [];
    const settle = async (group: number[]) => void groups.push(group);
    await settleAsTheyCome(
      [1, 2, 3].map((n) => Promise.resolve(n)),
      { clock, lingerMs: 100, settle },
    );
    expect(groups).toEqual([[1, 2, 3]]);
  });

  test('a slow outcome does not delay the others', async () => {
    const { clock, elapse } = heldClock();
    const slow = Promise.withResolvers<number>();
    const groups: number[][] = [];
    const settle = async (group: number[]) => void groups.push(group);
    const all = settleAsTheyCome([Promise.resolve(1), slow.promise, Promise.resolve(3)], {
      clock,
      lingerMs: 100,
      settle,
    });
    await elapse();
    expect(groups).toEqual([[1, 3]]);
    slow.resolve(2);
    await all;
    expect(groups).toEqual([[1, 3], [2]]);
  });

  test('items with nothing to settle are skipped, even if that is all of them', async () => {
    const { clock } = heldClock();
    const groups: unknown[] = [];
    const settle = async (group: unknown[]) => void groups.push(group);
    await settleAsTheyCome([Promise.resolve(undefined)], { clock, lingerMs: 100, settle });
    await settleAsTheyCome([], { clock, lingerMs: 100, settle });
    expect(groups).toEqual([]);
  });

  test('a rejection is reported after the others are settled', async () => {
    const { clock } = heldClock();
    const groups: number[][] = [];
    const settle = async (group: number[]) => void groups.push(group);
    const results = [Promise.reject(new Error('bad')), Promise.resolve(2)];
    await expect(settleAsTheyCome(results, { clock, lingerMs: 100, settle })).rejects.toThrow('bad');
    expect(groups).toEqual([[2]]);
  });

  test('a group that fails to settle is reported after the others are settled', async () => {
    const { clock, elapse } = heldClock();
    const slow = Promise.withResolvers<number>();
    const groups: number[][] = [];
    const settle = async (group: number[]) => {
      groups.push(group);
      if (group.includes(1)) throw new Error('no answer');
    };
    const results = [Promise.resolve(1), slow.promise];
    const all = settleAsTheyCome(results, { clock, lingerMs: 100, settle });
    await elapse();
    slow.resolve(2);
    await expect(all).rejects.toThrow('no answer');
    expect(groups).toEqual([[1], [2]]);
  });
});
