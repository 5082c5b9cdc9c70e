import type { LockStore } from '../../src/locking/index.ts';

/** A store of locks as another process can be told of it. */
export type StoreAddress =
  | { kind: 'blob'; connectionString: string; container: string }
  | { kind: 'redis'; url: string }
  | { kind: 'quorum'; stores: readonly StoreAddress[]; memberMs: number };

/** Loads only the client that the store needs. */
export async function openLockStore(address: StoreAddress): Promise<LockStore> {
  switch (address.kind) {
    case 'blob': {
      const { ContainerClient } = await import('@azure/storage-blob');
      const { blobLockStore } = await import('../../src/locking/stores/blob/blobLockStore.ts');
      return blobLockStore(new ContainerClient(address.connectionString, address.container));
    }
    case 'redis': {
      const { redisLockStore } = await import('../../src/locking/stores/redisLockStore.ts');
      return redisLockStore(address.url);
    }
    case 'quorum': {
      const { quorumLockStore } = await import('../../src/locking/stores/quorumLockStore.ts');
      return quorumLockStore(await Promise.all(address.stores.map(openLockStore)), address);
    }
  }
}
