import type { LockStore } from '../../src/locking/index.ts';

/** A store of locks as another process can be told of it. */
export type StoreAddress =
  | { kind: 'blob'; connectionString: string; container: string }
  | { kind: 'cosmos'; connectionString: string }
  | { kind: 'etcd'; endpoints: string }
  | { kind: 'redis'; url: string }
  | { kind: 'postgres' | 'postgresAdvisory' | 'mysql'; url: string }
  | { kind: 'serviceBus'; connectionString: string; queue: string; lockDurationMs: number }
  | { kind: 'quorum'; stores: readonly StoreAddress[]; memberMs: number }
  | { kind: 'zooKeeper'; connectString: string; tickMs: number };

/** Opens a store. Each kind loads only its own client. */
export async function openLockStore(address: StoreAddress): Promise<LockStore> {
  switch (address.kind) {
    case 'blob': {
      const { ContainerClient } = await import('@azure/storage-blob');
      const { blobLockStore } = await import('../../src/locking/stores/blob/blobLockStore.ts');
      return blobLockStore(new ContainerClient(address.connectionString, address.container));
    }
    case 'cosmos': {
      const { cosmosLockStore } = await import('../../src/locking/stores/cosmosLockStore.ts');
      const { lockContainer } = await import('./lockContainer.ts');
      return cosmosLockStore(lockContainer(address.connectionString));
    }
    case 'etcd': {
      const { etcdLockStore } = await import('../../src/locking/stores/etcdLockStore.ts');
      return etcdLockStore(address.endpoints);
    }
    case 'redis': {
      const { redisLockStore } = await import('../../src/locking/stores/redisLockStore.ts');
      return redisLockStore(address.url);
    }
    case 'postgres': {
      const { postgresLockStore } = await import('../../src/locking/stores/postgresLockStore.ts');
      return postgresLockStore(address.url);
    }
    case 'postgresAdvisory': {
      const { postgresAdvisoryLockStore } = await import(
        '../../src/locking/stores/postgresAdvisoryLockStore.ts'
      );
      return postgresAdvisoryLockStore(address.url);
    }
    case 'serviceBus': {
      const { ServiceBusClient } = await import('@azure/service-bus');
      const { serviceBusLockStore } = await import('../../src/locking/stores/serviceBusLockStore.ts');
      const { connectionString, queue, lockDurationMs } = address;
      return serviceBusLockStore((options) => new ServiceBusClient(connectionString, options), queue, {
        lockDurationMs,
      });
    }
    case 'mysql': {
      const { mysqlLockStore } = await import('../../src/locking/stores/mysqlLockStore.ts');
      return mysqlLockStore(address.url);
    }
    case 'quorum': {
      const { quorumLockStore } = await import('../../src/locking/stores/quorumLockStore.ts');
      return quorumLockStore(await Promise.all(address.stores.map(openLockStore)), address);
    }
    case 'zooKeeper': {
      const { zooKeeperLockStore } = await import('../../src/locking/stores/zooKeeperLockStore.ts');
      return zooKeeperLockStore(address.connectString, { tickMs: address.tickMs });
    }
  }
}
