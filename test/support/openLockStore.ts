import { ContainerClient } from '@azure/storage-blob';
import type { LockStore } from '../../src/locking/index.ts';
import { blobLockStore } from '../../src/locking/stores/blob/blobLockStore.ts';

/** A store of locks as another process can be told of it. */
export type StoreAddress =
  | { kind: 'blob'; connectionString: string; container: string }
  | { kind: 'postgres'; address: string };

export async function openLockStore(address: StoreAddress): Promise<LockStore> {
  switch (address.kind) {
    case 'blob':
      return blobLockStore(new ContainerClient(address.connectionString, address.container));
    case 'postgres': {
      const { postgresLockStore } = await import('../../src/locking/stores/postgresLockStore.ts');
      return postgresLockStore(address.address);
    }
  }
}
