import { defineConfig } from 'vitest/config';

/** The long form of the lease model's test, and the same on real servers: minutes, not seconds. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/globalAzurite.ts'],
    pool: 'forks',
    maxWorkers: 2,
    hookTimeout: 30_000,
    include: [
      'packages/leases/test/model/*.test.ts',
      'packages/lock-stores/test/quorum/schedules.test.ts',
      'packages/lock-stores/test/campaign/*.campaign.ts',
    ],
    env: { LOCKING_SCHEDULES: '100000', LOCKING_QUORUM_SCHEDULES: '2000' },
    testTimeout: 1_800_000,
  },
});
