import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { redisPrograms, startRedis, survivesKill } from '../../../../test/support/servers/redis.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { redisKeys } from '../../src/redis/redisKeys.ts';
import { redisLockStore } from '../../src/redis/redisLockStore.ts';

describeWith(redisPrograms, 'Redis', async () => {
  const leaseMs = 3_000;
  const prefix = 'payonce:locks:';
  const server = await startRedis(survivesKill);
  const store = redisLockStore(server.url);
  const bare = createClient({ url: server.url }).on('error', () => {});
  const holders = contractHolders({ kind: 'redis', url: server.url }, leaseMs);
  beforeAll(() => bare.connect());
  afterAll(async () => {
    await holders[Symbol.asyncDispose]();
    bare.destroy();
    await store[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  describe('leases', () => {
    lockStoreContract({
      store,
      clock: systemClock,
      leaseMs,
      pass: (ms) => systemClock.sleep(ms),
      realTime: true,
      canFreeze: !noSignals,
      lose: async (key) => void (await bare.del(redisKeys(prefix, key).lease)),
      destroy: async (key) => {
        const { record, lease } = redisKeys(prefix, key);
        await bare.del([record, lease]);
      },
      startHolder: holders.startHolder,
      async withSilentServer(work) {
        await server.freeze();
        try {
          await work(store);
        } finally {
          server.thaw();
        }
      },
      async restart() {
        await server.kill();
        await server.start();
      },
      another: async () => redisLockStore(server.url),
    });
  });
});
