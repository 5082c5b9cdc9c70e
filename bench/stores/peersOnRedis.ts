import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import type { LockStore } from '../../packages/leases/src/index.ts';
import { redisLockStore } from '../../packages/lock-stores/src/redis/redisLockStore.ts';
import { startRedis } from '../../test/support/servers/redis.ts';
import { ourPeers } from './ourPeer.ts';
import type { Peer, Peers } from './peers.ts';

/** Its declarations are not among its exports. */
const { default: Redlock } = createRequire(import.meta.url)('redlock') as {
  default: new (
    clients: Redis[],
    settings: { retryCount: number },
  ) => { using(keys: string[], ms: number, work: () => Promise<void>): Promise<unknown> };
};

const ttlMs = 30_000;
const deleteOwn = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** One Redis in memory. The peers are on ioredis, as they ask for. */
export async function redisPeers(): Promise<Peers> {
  const server = await startRedis();
  const { url } = server;

  /** Renews by itself, and tells of a loss by a signal: what `using` does, opened up. */
  const redlock: Peer = {
    name: 'redlock 5.0.0-beta.2, `using`',
    async open() {
      const client = new Redis(url);
      const locks = new Redlock([client], { retryCount: -1 });
      return {
        acquire: (key) =>
          new Promise((resolve, reject) => {
            const work = (): Promise<void> =>
              new Promise((end) => {
                resolve(() => {
                  end();
                  return done;
                });
              });
            const done: Promise<unknown> = locks.using([`redlock-${key}`], ttlMs, work);
            done.catch(reject);
          }),
        [Symbol.asyncDispose]: async () => client.disconnect(),
      };
    },
  };

  /** Renews by itself, and tells of a loss by `onLockLost`. */
  const semaphore: Peer = {
    name: 'redis-semaphore 5.8.0',
    async open() {
      const client = new Redis(url);
      return {
        async acquire(key) {
          const mutex = new Mutex(client, key, { lockTimeout: ttlMs, acquireTimeout: 600_000 });
          await mutex.acquire();
          return () => mutex.release();
        },
        [Symbol.asyncDispose]: async () => client.disconnect(),
      };
    },
  };

  /** Neither renews nor tells of a loss. */
  const plain: Peer = {
    name: 'ioredis, SET NX PX and a script',
    async open() {
      const client = new Redis(url);
      client.defineCommand('deleteOwn', { numberOfKeys: 1, lua: deleteOwn });
      const script = client as Redis & { deleteOwn(key: string, id: string): Promise<number> };
      return {
        async acquire(key) {
          const id = randomUUID();
          while ((await client.set(`plain-${key}`, id, 'PX', ttlMs, 'NX')) === null) await delay(10);
          return () => script.deleteOwn(`plain-${key}`, id);
        },
        [Symbol.asyncDispose]: async () => client.disconnect(),
      };
    },
  };

  function onIoRedis(): LockStore {
    const client = new Redis(url);
    const store = redisLockStore(client);
    return {
      ...store,
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]();
        client.disconnect();
      },
    };
  }

  return {
    peers: [
      ...ourPeers(() => redisLockStore(url)),
      ...ourPeers(onIoRedis).map((peer) => ({
        ...peer,
        name: peer.name.replace('@payonce', '@payonce on a client of ioredis'),
      })),
      redlock,
      semaphore,
      plain,
    ],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
