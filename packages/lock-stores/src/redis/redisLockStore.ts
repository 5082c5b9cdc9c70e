import { randomUUID } from 'node:crypto';
import type { LockStore, LockView, Refusal, StoreTraits } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { recordFromText, recordToText } from '../recordText.ts';
import { refuseClient } from '../refuseClient.ts';
import { type RedisClusterServers, type RedisServer, redisDenies } from './redisClients.ts';
import { redisConnection } from './redisConnection.ts';
import { keyOfRecord, recordPattern, redisKeys } from './redisKeys.ts';
import { type RedisScript, redisScripts as scripts } from './redisScripts.ts';

export type { RedisClusterServers, RedisServer };

export interface RedisLockOptions {
  /** Prefix of the name of each key in Redis. Default: `payonce:locks:`. */
  prefix?: string;
  /**
   * Number of replicas that must have a change before it counts. Give the number of all replicas that a failover may promote.
   * The default, 0, leaves a lease and its fence to the primary alone.
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
 * A lock store on Redis 6 or later. `address` is a URL (`redis://` or `rediss://`), options of node-redis, or the nodes of a
 * Redis Cluster.
 *
 * A lock is a hash that never expires, with its record and fence, and a key that expires with the lease. Scripts compare
 * the lease id and write, as one step. A lease ends when Redis says that its time is over, by the clock of the server: a
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
 * @throws TypeError for a client.
 */
export function redisLockStore(
  address: string | RedisServer | RedisClusterServers,
  { prefix = 'payonce:locks:', replicas = 0, waitMs = 500 }: RedisLockOptions = {},
): LockStore {
  refuseClient(address);
  const server = typeof address === 'string' ? { url: address } : address;
  const redis = redisConnection(server, { replicas, waitMs });
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

    release: (key, leaseId, signal) => run(signal, scripts.release, key, leaseId),

    break: (key, version, signal) => run(signal, scripts.break, key, version),

    async *list(beginning, signal) {
      const listed = new Set<string>();
      for await (const names of redis.names(signal, recordPattern(prefix, beginning))) {
        const keys = names
          .flatMap((name) => keyOfRecord(prefix, name) ?? [])
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

const refusals: Readonly<Record<'deleted' | 'taken' | 'broken' | 'ended', Refusal>> = {
  deleted: { kind: 'refused', reason: 'deleted', detail: 'Redis has no such lock' },
  taken: { kind: 'refused', reason: 'taken', detail: 'another lease holds the lock' },
  broken: { kind: 'refused', reason: 'broken', detail: 'the lease was taken away' },
  ended: { kind: 'refused', reason: 'taken', detail: 'Redis no longer has the lease' },
};

function view([version, record, leased, now]: [string, string, number, number]): LockView {
  return { held: leased === 1, record: recordFromText(record), version, now };
}
