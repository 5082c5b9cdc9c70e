import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pollingBackoff } from '../../../src/functionsHost/queue/pollingBackoff.ts';

test('starts at about 100 ms, doubles up to the limit, and resets after a message', () => {
  const backoff = pollingBackoff(1_000, () => 0.5);
  expect([1, 2, 3, 4, 5, 6].map(() => backoff.next())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

test('never exceeds the limit, and never drops below 100 ms unless the limit is lower', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.nat(40),
      fc.float({ min: 0, max: 1, noNaN: true }),
      (most, polls, random) => {
        const backoff = pollingBackoff(most, () => random);
        for (let i = 0; i <= polls; i++) {
          const pause = backoff.next();
          expect(pause).toBeGreaterThanOrEqual(Math.min(100, most));
          expect(pause).toBeLessThanOrEqual(most);
        }
      },
    ),
  );
});
