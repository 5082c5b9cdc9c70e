import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTokenBucket } from '../../../local/stripe/tokenBucket.ts';

/** A bucket, and a clock that only `wait` moves. */
function bucketOf(rate: number) {
  let time = 0;
  const { take } = createTokenBucket(rate, () => time);
  return {
    take,
    wait: (ms: number) => {
      time += ms;
    },
    now: () => time,
  };
}

test('starts full, refills at its rate, and holds one second', () => {
  const { take, wait } = bucketOf(25);
  const takeAll = (count: number) => Array.from({ length: count }, take).filter(Boolean).length;
  expect(takeAll(30)).toBe(25);
  wait(39);
  expect(take()).toBe(false);
  wait(1);
  expect(takeAll(2)).toBe(1);
  wait(60_000);
  expect(takeAll(30)).toBe(25);
});

test('a rate below one a second still lets a call through', () => {
  const { take, wait } = bucketOf(0.5);
  expect([take(), take()]).toEqual([true, false]);
  wait(2000);
  expect([take(), take()]).toEqual([true, false]);
});

const rates = fc.integer({ min: 1, max: 100 });
const gaps = fc.array(
  fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 50 }), fc.integer({ max: 3000, min: 51 })),
  {
    maxLength: 300,
  },
);

test('in any t seconds, never more than rate × t + depth', () => {
  fc.assert(
    fc.property(rates, gaps, (rate, waits) => {
      const { take, wait, now } = bucketOf(rate);
      const taken: number[] = [];
      for (const ms of waits) {
        wait(ms);
        if (take()) taken.push(now());
      }
      for (const [first, from] of taken.entries()) {
        for (const [offset, until] of taken.slice(first).entries()) {
          expect(offset + 1).toBeLessThanOrEqual((rate * (until - from)) / 1000 + rate);
        }
      }
    }),
  );
});

test('refuses only when the rate is used up: after 1/rate seconds the next call passes', () => {
  fc.assert(
    fc.property(rates, gaps, (rate, waits) => {
      const { take, wait } = bucketOf(rate);
      for (const ms of waits) {
        wait(ms);
        if (take()) continue;
        wait(Math.ceil(1000 / rate));
        expect(take()).toBe(true);
      }
    }),
  );
});
