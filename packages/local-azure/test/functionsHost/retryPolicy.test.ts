import { expect, test } from 'vitest';
import { mayRetry, readRetryPolicy, retryDelay } from '../../src/functionsHost/retryPolicy.ts';

test('exponential backoff doubles from the least delay to the most', () => {
  const policy = readRetryPolicy({
    retryStrategy: 'exponentialBackoff',
    maxRetryCount: 5,
    minimumInterval: { seconds: 1 },
    maximumInterval: { seconds: 6 },
  });
  expect([0, 1, 2, 3, 4].map((retries) => retryDelay(policy, retries))).toEqual([
    1000, 2000, 4000, 6000, 6000,
  ]);
});

test('the retries are counted, and -1 is no limit', () => {
  const policy = (maxRetryCount: number) =>
    readRetryPolicy({ retryStrategy: 'fixedDelay', maxRetryCount, delayInterval: { seconds: 2 } });
  expect([0, 1, 2].map((retries) => mayRetry(policy(2), retries))).toEqual([true, true, false]);
  expect(mayRetry(policy(-1), 1_000)).toBe(true);
  expect(retryDelay(policy(2), 1)).toBe(2000);
  expect(() => readRetryPolicy({ retryStrategy: 'fixedDelay', maxRetryCount: 1 })).toThrow(/delayInterval/);
});
