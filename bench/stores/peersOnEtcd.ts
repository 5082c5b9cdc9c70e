import { setTimeout as delay } from 'node:timers/promises';
import { Etcd3, EtcdLockFailedError } from 'etcd3';
import { etcdLockStore } from '../../packages/lock-stores/src/etcd/etcdLockStore.ts';
import { startEtcd } from '../../test/support/servers/etcd.ts';
import { ourPeers } from './ourPeer.ts';
import type { Peer, Peers } from './peers.ts';

/** A single etcd. */
export async function etcdPeers(): Promise<Peers> {
  const server = await startEtcd();

  /** Renews by itself; its lease tells of a loss by an event. It does not wait: this polls every 10 ms. */
  const etcd3: Peer = {
    name: 'etcd3 1.1.2',
    async open() {
      const client = new Etcd3({ hosts: server.address });
      return {
        async acquire(key) {
          for (;;) {
            const lock = client.lock(`etcd3-${key}`).ttl(30);
            try {
              await lock.acquire();
              return () => lock.release();
            } catch (error) {
              if (!(error instanceof EtcdLockFailedError)) throw error;
              await delay(10);
            }
          }
        },
        [Symbol.asyncDispose]: async () => client.close(),
      };
    },
  };

  return {
    peers: [...ourPeers(() => etcdLockStore(server.address)), etcd3],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
