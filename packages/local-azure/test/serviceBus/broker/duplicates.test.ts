import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DuplicateHistory } from '../../../src/serviceBus/broker/duplicates.ts';

test('an id is accepted again once its window has passed, counted from its first use', () => {
  const seen = new DuplicateHistory(10);
  expect(seen.remember('a', 0)).toBe(true);
  expect(seen.remember('a', 9)).toBe(false);
  expect(seen.remember('a', 10)).toBe(true);
});

test('agrees with a naive model', () => {
  const arrivals = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 6 })));
  fc.assert(
    fc.property(arrivals, (steps) => {
      const seen = new DuplicateHistory(10);
      const taken: { id: string; at: number }[] = [];
      let now = 0;
      for (const [id, wait] of steps) {
        now += wait;
        const fresh = !taken.some((each) => each.id === id && each.at + 10 > now);
        expect(seen.remember(id, now)).toBe(fresh);
        if (fresh) taken.push({ id, at: now });
      }
      expect(seen.size).toBeLessThanOrEqual(3);
    }),
  );
});
