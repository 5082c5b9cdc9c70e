import { defineConfig } from 'vitest/config';

/** Tests that wait for minutes: outages, dead hosts, pauses (`npm run check -- long`). */
export default defineConfig({
  test: {
    globalSetup: ['test/support/globalAzurite.ts'],
    pool: 'forks',
    maxWorkers: 2,
    hookTimeout: 30_000,
    include: ['test/**/*.long.ts', 'packages/*/test/**/*.long.ts'],
  },
});
