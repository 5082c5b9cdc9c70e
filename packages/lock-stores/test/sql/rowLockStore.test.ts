import { expect, test } from 'vitest';
import { never } from '../../../leases/src/testing/subject.ts';
import { rowLockStore } from '../../src/sql/rowLockStore.ts';

test.each([
  [true, true],
  [1, true],
  ['1', true],
  [false, false],
  [0, false],
  ['0', false],
  [null, false],
])('a lease of which the server says %o is held: %o', async (runs, held) => {
  const row = { lock_key: 'a', lease_id: 'b', runs, version: 'c', record: null, now: '1' };
  const store = rowLockStore({
    name: 'locks',
    now: 'now',
    nowMs: 'now_ms',
    later: '?',
    insert: '',
    isPermanent: () => false,
    run: async () => ({ rows: [row], matched: 1 }),
    async [Symbol.asyncDispose]() {},
  });
  expect(await store.look('a', never)).toMatchObject({ held });
});
