import { randomUUID } from 'node:crypto';
import type { LockStore, LockView, Refusal, StoreTraits } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { recordFromText, recordTail, recordToText } from '../recordText.ts';
import { refuseUnknown } from '../refuseUnknown.ts';
import { waiters } from '../waiters.ts';
import { givenRedis, isRedisClient } from './givenRedis.ts';
import type {
  IoRedisClient,
  NodeRedisClient,
  RedisClientGiven,
  RedisClusterServers,
  RedisServer,
} from './redisAddress.ts';
import { redisDenies } from './redisClients.ts';
import { type RedisConnection, redisConnection } from './redisConnection.ts';
import { keyOfRecord, recordPattern, redisKeys } from './redisKeys.ts';
import { type RedisScript, redisScripts as scripts } from './redisScripts.ts';

export type { IoRedisClient, NodeRedisClient, RedisClientGiven, RedisClusterServers, RedisServer };

export interface RedisLockOptions {
  /** Prefix of the name of each key in Redis. Default: `payonce:locks:`. */
  prefix?: string;
  /**
   * Number of replicas that must have a change before it counts. Give the number of all replicas that a failover may promote.
   * The default, 0, leaves a lease and its fence to the primary alone. Not with a client of your own: the answer to WAIT counts
   * for one connection only.
   */
  replicas?: number;
  /**
   * Longest wait for them (ms); then the call rejects. All calls of the store wait meanwhile. Default: 500.
   */
  waitMs?: number;
}

/** Measured: a lease ends 1 ms after its time. The rest of the lag is for busy machines. */
const traits: StoreTraits = {
  lease: { minMs: 100, maxMs: 3_600_000, stepMs: 1 },
  expiryLagMs: 200,
  keptBy: 'id',
  looks: 'anyone',
};

/**
 * A lock store on Redis 6 or later. `address` is a URL (`redis://` or `rediss://`), options of node-redis, the nodes of a Redis
 * Cluster, or a client of your own: of node-redis (also `createSentinel`, `createCluster`) or ioredis (also `Cluster`). Your client
 * is used as it is and never closed; a request that was aborted may still be sent by it, and then leaves the lock taken until that
 * lease runs out.
 *
 * A lock is a hash that never expires, with its record and fence, and a key that expires with the lease. Scripts compare
 * the lease id and write, as one step; a cycle of acquire and release is two requests. Waiters get the lock in the order of asking,
 * and are woken by `PUBLISH` on a connection of its own, which the first waiter opens. A lease ends when Redis says that its time is over, by the clock of the server: a
 * clock step forward ends leases early.
 *
 * The server needs:
 * - `maxmemory-policy noeviction` if it has a `maxmemory`; any other is refused when connecting, since it drops leases;
 * - `appendonly yes` and `appendfsync always`, or it forgets leases when it crashes
 *   (https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/), and may have two holders. Their fences rise
 *   all the same, except after a clock step back: a fence is no less than the milliseconds of the server's clock;
 * - with failover, the option `replicas`. Replication is asynchronous: without it a promoted replica may hand out the lock,
 *   once more. It narrows this window but does not close it
 *   (https://redis.io/docs/latest/commands/wait/). Where that is not enough, use a quorum.
 *
 * `packages/lock-stores/test/redis/hazards.test.ts` shows each.
 *
 * @throws TypeError for what is neither, RangeError for `replicas` with a client of your own.
 */
export function redisLockStore(
  address: string | RedisServer | RedisClusterServers | RedisClientGiven,
  { prefix = 'payonce:locks:', replicas = 0, waitMs = 500 }: RedisLockOptions = {},
): LockStore {
  const redis = connectionTo(address, replicas, waitMs);
  const line = waiters();
  const channels = `${prefix}wake:`;
  const keysOf = memoized((key) => redisKeys(prefix, key));

  /** Runs a script on a lock. */
  function run<T>(signal: AbortSignal, script: RedisScript<T>, key: string, ...args: string[]): Promise<T> {
    return redis.run({ signal }, script, () => keysOf(key), ...args);
  }

  async function look(key: string, signal: AbortSignal): Promise<LockView | undefined> {
    const found = await run(signal, scripts.look, key);
    return found === null ? undefined : view(found);
  }

  return {
    traits,
    look,
    isPermanent: redisDenies,

    async create(key, signal) {
      return view(await run(signal, scripts.create, key, randomUUID()));
    },

    acquire: (key, leaseId, leaseMs, signal) => run(signal, scripts.acquire, key, leaseId, String(leaseMs)),

    async take(key, leaseId, { leaseMs, record, place }, signal) {
      const { ticket = '', keptMs = 0 } = place ?? {};
      const tail = record === undefined ? '' : recordTail({ ...record, leaseMs });
      const args = [leaseId, String(leaseMs), ticket, String(keptMs), String(record?.floor ?? 0), tail];
      const fence = await run(signal, scripts.take, key, ...args);
      line.place(place?.ticket, fence === null);
      return fence ?? 'held';
    },

    async wait(key, signal) {
      await redis.listen(signal, channels + line.channel, line.call);
      return line.add((ticket, each) => run(each, scripts.leave, key, ticket, channels));
    },

    async raise(key, leaseId, record, version, signal) {
      const text = recordToText(record);
      const answer = await run(signal, scripts.raise, key, leaseId, version, text, randomUUID());
      return answer === 'raised' || answer === 'changed' ? answer : refusals[answer];
    },

    async renew(key, leaseId, leaseMs, signal) {
      // Less than one try of a renewal takes: the next try needs another connection, or the lease is lost.
      const caller = { signal, silentMs: Math.min(10_000, leaseMs / 8) };
      const answer = await redis.run(caller, scripts.renew, () => keysOf(key), leaseId, String(leaseMs));
      return answer === 'renewed' ? answer : refusals[answer];
    },

    release: (key, leaseId, signal) => run(signal, scripts.release, key, leaseId, channels),

    break: (key, version, signal) => run(signal, scripts.break, key, version, channels),

    forget: (key, version, signal) => run(signal, scripts.forget, key, version),

    async *list(beginning, signal) {
      const listed = new Set<string>();
      for await (const names of redis.names(signal, recordPattern(prefix, beginning))) {
        const keys = names
          .flatMap((name) => keyOfRecord(prefix, name.replace(/\}:lease$/, '}')) ?? [])
          .filter((key) => !listed.has(key));
        for (const key of keys) listed.add(key);
        const found = await Promise.all(
          [...new Set(keys)].map(async (key) => ({ key, lock: await look(key, signal) })),
        );
        for (const { key, lock } of found) if (lock !== undefined) yield { key, ...lock };
      }
    },

    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}

function connectionTo(
  address: string | RedisServer | RedisClusterServers | RedisClientGiven,
  replicas: number,
  waitMs: number,
): RedisConnection {
  if (typeof address === 'string') return redisConnection({ url: address }, { replicas, waitMs });
  if (isRedisClient(address)) {
    if (replicas > 0) throw new RangeError('`replicas` needs connections of the store: give it an address');
    return givenRedis(address);
  }
  refuseUnknown(address, [
    'url',
    'socket',
    'username',
    'password',
    'credentialsProvider',
    'name',
    'database',
    'rootNodes',
    'defaults',
  ]);
  return redisConnection(address, { replicas, waitMs });
}

const refusals: Readonly<Record<'deleted' | 'taken' | 'broken' | 'ended', Refusal>> = {
  deleted: { kind: 'refused', reason: 'deleted', detail: 'Redis has no such lock' },
  taken: { kind: 'refused', reason: 'taken', detail: 'another lease holds the lock' },
  broken: { kind: 'refused', reason: 'broken', detail: 'the lease was taken away' },
  ended: { kind: 'refused', reason: 'taken', detail: 'Redis no longer has the lease' },
};

function view([version, record, leased, now]: readonly [string, string, number, number]): LockView {
  return { held: leased === 1, record: recordFromText(record), version, now };
}
