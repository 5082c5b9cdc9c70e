import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { never } from '../../../leases/src/testing/subject.ts';
import { type PostgresPool, postgresLockStore } from '../../src/postgres/postgresLockStore.ts';

test('a LISTEN without an answer ends with its signal, and holds up neither the next waiter nor the end', async () => {
  const network = { isSilent: true };
  const ended: boolean[] = [];
  const pool: PostgresPool = {
    totalCount: 0,
    connect: async () =>
      Object.assign(new EventEmitter(), {
        query: () =>
          network.isSilent ? new Promise<never>(() => {}) : Promise.resolve({ rows: [], rowCount: 0 }),
        release: (destroy = false) => void ended.push(destroy),
      }),
  };
  const store = postgresLockStore(pool);
  await expect(store.wait?.('jobs/pay', AbortSignal.timeout(50))).rejects.toThrow('timeout');
  expect(ended).toEqual([true]);
  await expect(store.wait?.('jobs/pay', AbortSignal.timeout(50))).rejects.toThrow('timeout');
  network.isSilent = false;
  expect(await store.wait?.('jobs/pay', never)).toMatchObject({ ticket: expect.any(String) });
  await store[Symbol.asyncDispose]?.();
  expect(ended).toEqual([true, true, true]);
});

test('a LISTEN that fails leaves those who waited for it no connections of their own', async () => {
  let kept = 0;
  let refusals = 1;
  const pool: PostgresPool = {
    totalCount: 0,
    async connect() {
      kept++;
      return Object.assign(new EventEmitter(), {
        query: () =>
          refusals-- > 0 ? Promise.reject(new Error('refused')) : Promise.resolve({ rows: [], rowCount: 0 }),
        release: () => void kept--,
      });
    },
  };
  await using store = postgresLockStore(pool);
  const queued = () => Promise.allSettled([1, 2, 3].map(async () => store.wait?.('jobs/pay', never)));
  await queued();
  await queued();
  expect(kept).toBe(1);
});
