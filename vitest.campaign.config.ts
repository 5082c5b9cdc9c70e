import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** The long form of the lease model's test: minutes, not seconds. */
export default defineConfig({
  test: {
    ...base.test,
    include: ['test/locking/model/*.test.ts'],
    env: { LOCKING_SCHEDULES: '100000' },
    testTimeout: 1_800_000,
  },
});
