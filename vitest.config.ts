import { defineConfig, mergeConfig } from 'vitest/config';
import { onlyInFull } from './test/support/onlyInFull.ts';
import full from './vitest.full.config.ts';

/** For every change (`npm test`). */
export default mergeConfig(full, defineConfig({ test: { exclude: onlyInFull, env: { TESTS: 'core' } } }));
