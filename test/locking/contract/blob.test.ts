import { randomUUID } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { blobLockStore } from '../../../src/locking/index.ts';
import { lockName } from '../../../src/locking/lockName.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { noSignals } from '../../support/signals.ts';
import { type LockHolder, startLockHolder } from '../../support/startLockHolder.ts';
import { lockStoreContract } from './lockStoreContract.ts';

const connectionString = inject('azurite');
const container = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(
  `locks-${randomUUID()}`,
);
const holders: LockHolder[] = [];

describe('blob leases', { timeout: 60_000 }, () => {
  lockStoreContract({
    store: blobLockStore(container),
    clock: systemClock,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    destroy: async (key) => {
      await container.deleteBlob(lockName(key), {
        conditions: { leaseId: '11111111-1111-4111-8111-111111111111' },
      });
    },
    async startHolder(key) {
      const holder = await startLockHolder({
        connectionString,
        container: container.containerName,
        key,
        instance: 'holder',
      });
      holders.push(holder);
      return {
        ...holder,
        kill: () => holder.signal('SIGKILL'),
        freeze: () => holder.signal('SIGSTOP'),
        thaw: () => holder.signal('SIGCONT'),
      };
    },
  });
});

test('a listing asks the service only for its folder', async () => {
  const asked: (string | null)[] = [];
  const watch = (message: unknown) => {
    const { path } = (message as { request: { path: string } }).request;
    const { searchParams } = new URL(path, 'http://blobs');
    if (searchParams.get('comp') === 'list') asked.push(searchParams.get('prefix'));
  };
  const store = blobLockStore(container);
  const { signal } = new AbortController();
  await store.create('listed/a', signal);
  await store.create('unasked/b', signal);
  diagnostics.subscribe('http.client.request.start', watch);
  const keys: string[] = [];
  for await (const { key } of store.list('listed/', signal)) keys.push(key);
  diagnostics.unsubscribe('http.client.request.start', watch);
  expect(asked).toEqual(['listed']);
  expect(keys).toEqual(['listed/a']);
});

afterAll(async () => {
  await Promise.all(holders.map((holder) => holder[Symbol.asyncDispose]()));
});
