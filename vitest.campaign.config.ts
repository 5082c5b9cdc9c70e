import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** The long form of the lease model's test, and the same on real servers: minutes, not seconds. */
export default defineConfig({
  test: {
    ...base.test,
    include: [
      'test/locking/model/*.test.ts',
      'test/locking/stores/quorum/schedules.test.ts',
      'test/locking/campaign/*.campaign.ts',
    ],
    env: { LOCKING_SCHEDULES: '100000', LOCKING_QUORUM_SCHEDULES: '2000' },
    testTimeout: 1_800_000,
  },
});
