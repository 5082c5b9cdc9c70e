import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import type { LockStore, Refusal } from '../../../leases/src/index.ts';
import { type MemoryLockStore, memoryLockStore } from '../../../leases/src/testing/memoryLockStore.ts';
import { never, one, two } from '../../../leases/src/testing/subject.ts';
import { quorumLockStore } from '../../src/quorum/quorumLockStore.ts';

const key = 'the-lock';
const leaseMs = 15_000;

/** A quorum of three models, of which the last can be slow or away. */
async function quorumOfThree() {
  const clock = virtualClock();
  const stores = [1, 2, 3].map(() => memoryLockStore(() => clock.monotonic()));
  const [first, second, third] = stores;
  if (first === undefined || second === undefined || third === undefined) throw new Error('too few');
  let slowMs = 0;
  const asked: string[] = [];
  const away: LockStore = {
    ...third,
    async acquire(...request) {
      asked.push('acquire');
      if (slowMs > 0) await clock.sleep(slowMs);
      return third.acquire(...request);
    },
    async release(...request) {
      asked.push('release');
      return third.release(...request);
    },
  };
  const store = quorumLockStore([first, second, away], { clock });
  for (const member of stores) await member.create(key, never);
  const slow = (ms: number) => {
    slowMs = ms;
  };
  return { clock, store, first, second, third, slow, asked };
}

test('a lease ends when so many members tell of its end that no majority is left', async () => {
  const tells: ((why: Refusal) => void)[] = [];
  const members = [1, 2, 3].map((): LockStore => ({
    ...memoryLockStore(),
    onEnd: (...[, , tell]) => void tells.push(tell),
  }));
  const told: Refusal[] = [];
  quorumLockStore(members).onEnd?.(key, one, (why) => told.push(why));
  const why = (detail: string): Refusal => ({ kind: 'refused', reason: 'taken', detail });
  tells[0]?.(why('first'));
  expect(told).toEqual([]);
  tells[2]?.(why('second'));
  tells[1]?.(why('third'));
  expect(told).toEqual([why('second')]);
});

const holders = (...stores: MemoryLockStore[]) => stores.map((store) => store.holder(key));

describe('a quorum', () => {
  test('answers before its slowest store, whose release follows its acquire', async () => {
    const { clock, store, third, slow, asked } = await quorumOfThree();
    slow(100);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    expect(await store.release(key, one, never)).toBe('released');
    expect(asked).toEqual(['acquire']);
    await clock.advance(100);
    expect(asked).toEqual(['acquire', 'release']);
    expect(third.holder(key)).toBeUndefined();
  });

  test('releases what it acquired without a majority', async () => {
    const { clock, store, first, second, third } = await quorumOfThree();
    for (const member of [first, second]) await member.acquire(key, two, leaseMs, never);
    const answer = store.acquire(key, one, leaseMs, never);
    await clock.advance(1_000);
    expect(await answer).toBe('held');
    expect(holders(first, second, third)).toEqual([two, two, undefined]);
  });

  test('acquires again, with a renewal, where the lease was lost', async () => {
    const { clock, store, first, second, third } = await quorumOfThree();
    await store.acquire(key, one, leaseMs, never);
    second.lose(key);
    expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    await clock.advance(0);
    expect(holders(first, second, third)).toEqual([one, one, one]);
  });

  test('loses its lease with a majority of its stores', async () => {
    const { store, second, third } = await quorumOfThree();
    await store.acquire(key, one, leaseMs, never);
    second.lose(key);
    third.delete(key);
    expect(await store.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused' });
  });

  test('brings a store up to date that has forgotten the lock, its record included', async () => {
    const { clock, store, third } = await quorumOfThree();
    const record = { fence: 5, owner: { instance: 'i', job: 'j' }, since: 1, leaseMs };
    await store.acquire(key, one, leaseMs, never);
    const view = await store.look(key, never);
    expect(await store.raise(key, one, record, view?.version ?? '', never)).toBe('raised');
    third.delete(key);
    expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    await clock.advance(0);
    expect(await third.look(key, never)).toMatchObject({ held: true, record });
  });

  test('does not take back a store on which the lease was broken', async () => {
    const { clock, store, third } = await quorumOfThree();
    await store.acquire(key, one, leaseMs, never);
    await third.break(key, '1', never);
    expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    await clock.advance(0);
    expect(third.holder(key)).toBeUndefined();
  });

  test('a forgetful store whose vote is needed has it again after one lease', async () => {
    const { clock, store, first, second, third } = await quorumOfThree();
    for (const member of [second, third]) member.delete(key);
    const early = store.acquire(key, one, leaseMs, never);
    await clock.advance(1_000);
    expect(await early).toBe('held');
    expect(holders(first, second, third)).toEqual([undefined, expect.any(String), expect.any(String)]);
    await clock.advance(leaseMs - 1_100);
    const stillEarly = store.acquire(key, one, leaseMs, never);
    await clock.advance(1_000);
    expect(await stillEarly).toBe('held');
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
  });

  test('a forgetful store that was made anew and not taken gives nobody a majority beside a holder', async () => {
    const { clock, store, first, second, third } = await quorumOfThree();
    for (const member of [first, third]) await member.acquire(key, one, leaseMs, never);
    third.delete(key);
    // The holder's own store is out of this candidate's sight, and the forgetful one answers once and then falls silent.
    const unseen = new Promise<never>(() => {});
    const silent: LockStore = {
      ...third,
      async create(...request) {
        const view = await third.create(...request);
        silent.acquire = () => unseen;
        return view;
      },
    };
    const away: LockStore = { ...first, acquire: () => unseen };
    const hasty = quorumLockStore([away, second, silent], { clock }).acquire(key, two, leaseMs, never);
    await clock.advance(5_000);
    expect(await hasty).toBe('held');
    expect(await third.look(key, never)).toMatchObject({ held: false });
    const other = store.acquire(key, randomUUID(), leaseMs, never);
    await clock.advance(1_000);
    expect(await other).toBe('held');
    expect(first.holder(key)).toBe(one);
  });

  test('can take away and list only what all its stores can', () => {
    const { break: _, list: __, ...plain } = memoryLockStore();
    const store = quorumLockStore([memoryLockStore(), plain, memoryLockStore()]);
    expect(store.break).toBeUndefined();
    expect(store.list).toBeUndefined();
  });

  test('says why it has no answer', async () => {
    const { clock, first, second } = await quorumOfThree();
    const failing = { ...second, look: () => Promise.reject(new Error('connection refused')) };
    const store = quorumLockStore([first, failing, failing], { clock });
    await expect(store.look(key, never)).rejects.toThrow(
      'the answers of 1 of 3 stores do not decide: connection refused',
    );
  });
});
