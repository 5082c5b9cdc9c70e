import { expect, test } from 'vitest';
import { remembered } from '../../src/platform/remembered.ts';
import { virtualClock } from '../support/virtualClock.ts';

test('an answer serves those who ask soon after, and those who ask while it is being found', async () => {
  const clock = virtualClock(0);
  let asked = 0;
  const ask = remembered(async () => ++asked, 1_000, clock);
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
  await clock.advance(999);
  expect(await ask()).toBe(1);
  await clock.advance(1);
  expect(await ask()).toBe(2);
});

test('a failure is not remembered', async () => {
  let asked = 0;
  const ask = remembered(
    async () => {
      if (asked++ === 0) throw new Error('away');
      return 'here';
    },
    1_000,
    virtualClock(0),
  );
  await expect(ask()).rejects.toThrow('away');
  expect(await ask()).toBe('here');
});
