import { createClient } from 'redis';
import { afterAll, beforeAll } from 'vitest';
import { redisKeys } from '../../../../src/locking/stores/redis/redisKeys.ts';
import { redisLockStore } from '../../../../src/locking/stores/redisLockStore.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { leaderContract } from '../../../../src/testing/locks/leaderContract.ts';
import { describeWith } from '../../../support/servers/findProgram.ts';
import { redisPrograms, startRedis } from '../../../support/servers/redis.ts';

describeWith(redisPrograms, 'leaders on Redis', async () => {
  const server = await startRedis();
  const bare = createClient({ url: server.url });
  beforeAll(() => bare.connect());
  afterAll(async () => {
    bare.destroy();
    await server[Symbol.asyncDispose]();
  });

  leaderContract({
    open: async () => redisLockStore(server.url),
    clock: systemClock,
    leaseMs: 3_000,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    lose: async (key) => void (await bare.del(redisKeys('payonce:locks:', key).lease)),
  });
});
