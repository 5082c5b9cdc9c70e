import type { Container } from '@azure/cosmos';
import type { ContainerClient } from '@azure/storage-blob';
import type { LockStore } from '@payonce/leases';
import { blobLockStore } from '@payonce/leases/blob';
import type { ConnectServiceBus } from '@payonce/lock-stores/service-bus';
import { serviceBusQueues } from './platform/azureNames.ts';
import { installed } from './platform/clientMissing.ts';
import type { LockAddress, ServerLocks } from './settings/lockAddress.ts';

/** The app's own Azure resources that can hold locks. */
export interface LockResources {
  blobs: ContainerClient;
  container: Container;
  connectServiceBus: ConnectServiceBus;
}

/** Makes a store of locks whose client is loaded. */
export type OpenLocks = (azure: LockResources) => LockStore;

/** The store that needs nothing but the app's storage account. */
export const blobLocks: OpenLocks = ({ blobs }) => blobLockStore(blobs);

/**
 * Loads the store that `LOCKS` names, and its client, which is installed only where it is used.
 *
 * @throws {ClientMissing}
 */
export async function loadLockStore(address: LockAddress): Promise<OpenLocks> {
  switch (address.kind) {
    case 'blob':
      return blobLocks;
    case 'cosmos': {
      const { cosmosLockStore } = await import('@payonce/lock-stores/cosmos');
      return ({ container }) => cosmosLockStore(container);
    }
    case 'service-bus': {
      const { serviceBusLockStore } = await import('@payonce/lock-stores/service-bus');
      return ({ connectServiceBus }) => serviceBusLockStore(connectServiceBus, serviceBusQueues.locks);
    }
    case 'quorum': {
      const { quorumLockStore } = await import('@payonce/lock-stores/quorum');
      const members = await Promise.all(address.members.map(loadServerStore));
      return () => quorumLockStore(members.map((open) => open()));
    }
    case 'redis':
    case 'postgres':
    case 'postgres-advisory':
    case 'mysql':
    case 'etcd':
    case 'zookeeper':
      return loadServerStore(address);
  }
}

async function loadServerStore({ kind, url }: ServerLocks): Promise<() => LockStore> {
  switch (kind) {
    case 'redis': {
      // The store itself loads its client with its first request only.
      await installed('@redis/client', () => import('@redis/client'), 'LOCKS');
      const { redisLockStore } = await import('@payonce/lock-stores/redis');
      return () => redisLockStore(url);
    }
    case 'postgres': {
      const load = () => import('@payonce/lock-stores/postgres');
      const { postgresLockStore } = await installed('pg', load, 'LOCKS');
      return () => postgresLockStore(url);
    }
    case 'postgres-advisory': {
      const load = () => import('@payonce/lock-stores/postgres-advisory');
      const { postgresAdvisoryLockStore } = await installed('pg', load, 'LOCKS');
      return () => postgresAdvisoryLockStore(url.replace('postgres-advisory://', 'postgres://'));
    }
    case 'mysql': {
      const load = () => import('@payonce/lock-stores/mysql');
      const { mysqlLockStore } = await installed('mysql2', load, 'LOCKS');
      return () => mysqlLockStore(url.replace('mariadb://', 'mysql://'));
    }
    case 'etcd': {
      const { etcdLockStore } = await import('@payonce/lock-stores/etcd');
      return () => etcdLockStore(etcdEndpoints(url));
    }
    case 'zookeeper': {
      const { zooKeeperLockStore } = await import('@payonce/lock-stores/zookeeper');
      return () => zooKeeperLockStore(url.replace('zookeeper://', ''));
    }
  }
}

/** `etcd://user:password@a:2379,b` as the endpoints of the gateway; `etcds` is over TLS. */
function etcdEndpoints(url: string): string[] {
  const [, secure, user = '', hosts = ''] = /^etcd(s?):\/\/([^@]*@)?(.*)$/.exec(url) ?? [];
  return hosts
    .split(',')
    .map((host) => `http${secure}://${user}${/:\d+$/.test(host) ? host : `${host}:2379`}`);
}
