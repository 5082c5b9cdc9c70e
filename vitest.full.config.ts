import { defineConfig } from 'vitest/config';
import { compiledCode } from './test/support/compiledCode.ts';
import { needsOwnProcess } from './test/support/needsOwnProcess.ts';

/** More than there are processors: some tests wait most of their time, for leases to end or for servers to start. */
const workers = { maxWorkers: 4, sequence: { groupOrder: 1 } };

/** All tests that take less than minutes (`npm run test:full`). */
export default defineConfig({
  test: {
    globalSetup: ['test/support/compiledCode.ts', 'test/support/globalAzurite.ts'],
    pool: 'forks',
    // The machine may be busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    env: { NODE_COMPILE_CACHE: compiledCode, TESTS: 'full' },
    projects: [
      { extends: true, test: { ...workers, name: 'own process', include: needsOwnProcess } },
      {
        extends: true,
        test: {
          ...workers,
          name: 'shared process',
          include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
          exclude: needsOwnProcess,
          isolate: false,
        },
      },
    ],
  },
});
