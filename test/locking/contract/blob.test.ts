import { randomUUID } from 'node:crypto';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, describe, inject } from 'vitest';
import { blobLockStore } from '../../../src/locking/index.ts';
import { lockName } from '../../../src/locking/lockName.ts';
import { systemClock } from '../../../src/platform/clock.ts';
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

afterAll(async () => {
  await Promise.all(holders.map((holder) => holder[Symbol.asyncDispose]()));
});
