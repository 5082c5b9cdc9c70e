import { expect, test } from 'vitest';
import { pausesAfter, pausesLine, tooLong } from './pauses.ts';

const charge = (second: number) => ({ createdAt: new Date(second * 1000).toISOString() });

test('the pause lasts until the next charge', () => {
  expect(pausesAfter([9_500, 11_000, 30_500], [charge(30), charge(10), {}])).toEqual([
    500,
    19_000,
    undefined,
  ]);
});

test('more than a minute is too long', () => {
  expect(tooLong([60_000, 60_001, undefined])).toEqual([
    'payments went on 60001 ms after the locks were back',
  ]);
  expect(pausesLine([1_500, undefined, 3_000])).toBe(
    'Locks       gone 3 times; until the next payment: 3.0 s at most',
  );
});
