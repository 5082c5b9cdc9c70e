import { defineConfig } from 'vitest/config';

/** Tests on servers of their own wait most of their time: for leases to end, for servers to start. */
const waiting = ['test/locking/stores/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/globalAzurite.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'all but lock stores',
          include: ['test/**/*.test.ts'],
          exclude: waiting,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'lock stores', include: waiting, maxWorkers: 6, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
