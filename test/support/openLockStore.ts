import type { LockStore } from '../../packages/leases/src/index.ts';

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
      const { blobLockStore } = await import('../../packages/leases/src/blobLockStore.ts');
      return blobLockStore(new ContainerClient(address.connectionString, address.container));
    }
    case 'cosmos': {
      const { cosmosLockStore } = await import('../../packages/lock-stores/src/cosmos/cosmosLockStore.ts');
      const { lockContainer } = await import('./lockContainer.ts');
      return cosmosLockStore(lockContainer(address.connectionString));
    }
    case 'etcd': {
      const { etcdLockStore } = await import('../../packages/lock-stores/src/etcd/etcdLockStore.ts');
      return etcdLockStore(address.endpoints);
    }
    case 'redis': {
      const { redisLockStore } = await import('../../packages/lock-stores/src/redis/redisLockStore.ts');
      return redisLockStore(address.url);
    }
    case 'postgres': {
      const { postgresLockStore } =
        await import('../../packages/lock-stores/src/postgres/postgresLockStore.ts');
      return postgresLockStore(address.url);
    }
    case 'postgresAdvisory': {
      const { postgresAdvisoryLockStore } =
        await import('../../packages/lock-stores/src/postgres/postgresAdvisoryLockStore.ts');
      return postgresAdvisoryLockStore(address.url);
    }
    case 'serviceBus': {
      const { ServiceBusClient } = await import('@azure/service-bus');
      const { serviceBusLockStore } =
        await import('../../packages/lock-stores/src/serviceBus/serviceBusLockStore.ts');
      const { connectionString, queue, lockDurationMs } = address;
      return serviceBusLockStore((options) => new ServiceBusClient(connectionString, options), queue, {
        lockDurationMs,
      });
    }
    case 'mysql': {
      const { mysqlLockStore } = await import('../../packages/lock-stores/src/mysql/mysqlLockStore.ts');
      return mysqlLockStore(address.url);
    }
    case 'quorum': {
      const { quorumLockStore } = await import('../../packages/lock-stores/src/quorum/quorumLockStore.ts');
      return quorumLockStore(await Promise.all(address.stores.map(openLockStore)), address);
    }
    case 'zooKeeper': {
      const { zooKeeperLockStore } =
        await import('../../packages/lock-stores/src/zooKeeper/zooKeeperLockStore.ts');
      return zooKeeperLockStore(address.connectString, { tickMs: address.tickMs });
    }
  }
}
