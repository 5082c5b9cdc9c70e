import { defineConfig } from 'vitest/config';

/** The long form of the lease model's test, and the same on real servers: minutes, not seconds. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/globalAzurite.ts'],
    pool: 'forks',
    maxWorkers: 2,
    hookTimeout: 30_000,
    include: [
      'test/locking/model/*.test.ts',
      'test/locking/stores/quorum/schedules.test.ts',
      'test/locking/campaign/*.campaign.ts',
    ],
    env: { LOCKING_SCHEDULES: '100000', LOCKING_QUORUM_SCHEDULES: '2000' },
    testTimeout: 1_800_000,
  },
});
