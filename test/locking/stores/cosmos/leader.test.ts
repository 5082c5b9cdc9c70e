import { afterAll, describe } from 'vitest';
import { lockPartition } from '../../../../src/locking/stores/cosmosLockItems.ts';
import { cosmosLockStore } from '../../../../src/locking/stores/cosmosLockStore.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { leaderContract } from '../../../../src/testing/locks/leaderContract.ts';
import { lockContainer } from '../../../support/lockContainer.ts';
import { payonceCosmos } from '../../../support/payonceCosmos.ts';

const cosmos = await payonceCosmos();
afterAll(() => cosmos[Symbol.asyncDispose]());

describe('leaders on Cosmos', { timeout: 60_000 }, () => {
  leaderContract({
    open: async () => cosmosLockStore(lockContainer(cosmos.connectionString)),
    clock: systemClock,
    leaseMs: 4_000,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    lose: async (key) => {
      await cosmos.containers.locks.item('lease', lockPartition(key)).delete();
    },
  });
});
