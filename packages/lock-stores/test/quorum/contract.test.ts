import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { redisPrograms, startRedis, survivesKill } from '../../../../test/support/servers/redis.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import type { LockStore } from '../../../leases/src/index.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { never } from '../../../leases/src/testing/subject.ts';
import { quorumLockStore } from '../../src/quorum/quorumLockStore.ts';
import { redisKeys } from '../../src/redis/redisKeys.ts';
import { redisLockStore } from '../../src/redis/redisLockStore.ts';

describeWith(redisPrograms, 'a quorum of three Redis servers', async () => {
  // The contract asks the store directly, without the repetitions of a lease: a busy machine needs its time.
  const leaseMs = 12_000;
  const memberMs = 1_000;
  const servers = await Promise.all([1, 2, 3].map(() => startRedis(survivesKill)));
  const open = () =>
    quorumLockStore(
      servers.map(({ url }) => redisLockStore(url)),
      { memberMs },
    );
  const store = open();
  const bare = servers.map(({ url }) => createClient({ url }).on('error', () => {}));
  const stores = servers.map(({ url }) => ({ kind: 'redis', url }) as const);
  const holders = contractHolders({ kind: 'quorum', stores, memberMs }, leaseMs);
  const connected = async (client: LockStore) => {
    const answers = () =>
      client.look('connected', never).then(
        () => true,
        () => false,
      );
    await until(answers, (yes) => yes);
    return client;
  };
  beforeAll(async () => {
    await Promise.all(bare.map((client) => client.connect()));
    await connected(store);
  });
  afterAll(async () => {
    await holders[Symbol.asyncDispose]();
    for (const client of bare) client.destroy();
    await store[Symbol.asyncDispose]();
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  });

  const remove = async (keys: string[]) => void (await Promise.all(bare.map((client) => client.del(keys))));

  describe('leases', () => {
    lockStoreContract({
      store,
      clock: systemClock,
      leaseMs,
      pass: (ms) => systemClock.sleep(ms),
      realTime: true,
      canFreeze: !noSignals,
      lose: (key) => remove([redisKeys('payonce:locks:', key).lease]),
      destroy: (key) => remove(Object.values(redisKeys('payonce:locks:', key))),
      startHolder: holders.startHolder,
      async withSilentServer(work) {
        const majority = servers.slice(1);
        await Promise.all(majority.map((server) => server.freeze()));
        try {
          await work(store);
        } finally {
          for (const server of majority) server.thaw();
        }
      },
      async restart() {
        await Promise.all(servers.map((server) => server.kill()));
        await Promise.all(servers.map((server) => server.start()));
      },
      another: () => connected(open()),
    });
  });
});
