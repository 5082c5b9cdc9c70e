import { randomUUID } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { throughBlackHole } from '../../../../test/support/throughBlackHole.ts';
import { blobLockStore, blobName } from '../../src/blobLockStore.ts';
import { systemClock } from '../../src/clock.ts';
import { lockStoreContract } from '../../src/testing/lockStoreContract.ts';

const leaseMs = 15_000;
const connectionString = inject('azurite');
const name = `locks-${randomUUID()}`;
const containerOf = (address: string) =>
  BlobServiceClient.fromConnectionString(address).getContainerClient(name);
const container = containerOf(connectionString);
const holders = contractHolders({ kind: 'blob', connectionString, container: name }, leaseMs);

describe('blob leases', { timeout: 60_000 }, () => {
  lockStoreContract({
    store: blobLockStore(container),
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: async (key) => {
      await container.getBlobClient(blobName(key)).getBlobLeaseClient().breakLease(0);
    },
    destroy: async (key) => {
      await container.deleteBlob(blobName(key), {
        conditions: { leaseId: '11111111-1111-4111-8111-111111111111' },
      });
    },
    startHolder: holders.startHolder,
    async withSilentServer(work) {
      await using hole = await throughBlackHole(connectionString);
      hole.swallow(true);
      await work(blobLockStore(containerOf(hole.connectionString)));
    },
    another: async () => blobLockStore(containerOf(connectionString)),
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
  for await (const { key } of store.list?.('listed/', signal) ?? []) keys.push(key);
  diagnostics.unsubscribe('http.client.request.start', watch);
  expect(asked).toEqual(['listed']);
  expect(keys).toEqual(['listed/a']);
});

afterAll(() => holders[Symbol.asyncDispose]());
