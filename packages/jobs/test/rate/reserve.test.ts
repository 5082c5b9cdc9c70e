import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryPaceStore } from '../../../../test/memory/memoryPaceStore.ts';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { reserve } from '../../src/rate/pacer.ts';
import type { Schedule } from '../../src/rate/paceStore.ts';
import { type Slot, sharedClock } from '../../src/rate/schedule.ts';

const ceiling = 50;
const nothing = { epoch: 0, answered: 0, refused: 0, holdUntil: 0 };

/** Instances that reserve from one schedule, each with a clock of its own. */
function instances(skews: readonly number[]) {
  const store = memoryPaceStore();
  const clock = virtualClock();
  const all = skews.map((skew) => {
    const shared = sharedClock({ ...clock, now: () => clock.now() + skew });
    let known: Schedule | undefined;
    return async (count: number, report = nothing): Promise<Slot[]> => {
      const parts = { store, shared, limit: 'charges', ceiling, storeMs: 0 };
      const reserved = await reserve(parts, known, report, () => count);
      known = reserved.schedule;
      return reserved.slots;
    };
  });
  return { store, clock, all };
}

test('slots never overlap, and there are no more than the pace allows, in whatever order instances reserve', async () => {
  const step = fc.record({ by: fc.nat(3), count: fc.integer({ min: 1, max: 30 }), waitMs: fc.nat(2_000) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: -5_000, max: 5_000 }), { minLength: 4, maxLength: 4 }),
      fc.array(step, { maxLength: 40 }),
      async (skews, steps) => {
        const { clock, all } = instances(skews);
        const slots: number[] = [];
        for (const { by, count, waitMs } of steps) {
          const granted = (await all[by]?.(count)) ?? [];
          expect(granted).toHaveLength(count);
          slots.push(...granted.map(({ at }) => at));
          await clock.advance(waitMs);
        }
        const gaps = slots.slice(1).map((at, index) => at - (slots[index] ?? 0));
        for (const gap of gaps) expect(gap).toBeGreaterThan(1000 / ceiling - 0.01);
      },
    ),
  );
});

test('time that nobody used never becomes credit', async () => {
  const { clock, all } = instances([0]);
  const [reserveSome] = all;
  await reserveSome?.(1);
  await clock.advance(60_000);
  const [first] = (await reserveSome?.(5)) ?? [];
  expect(first?.at).toBeGreaterThanOrEqual(clock.now());
});

test('an instance whose clock is behind catches up with the others', async () => {
  const { all } = instances([3_000, -3_000]);
  const [ahead] = (await all[0]?.(1)) ?? [];
  const [behind] = (await all[1]?.(1)) ?? [];
  expect((behind?.at ?? 0) - (ahead?.at ?? 0)).toBeCloseTo(1000 / ceiling, 3);
});

test('no slot is before the time that the provider asked to wait for', async () => {
  const { clock, all } = instances([0, 0]);
  await all[0]?.(3);
  const holdUntil = clock.now() + 7_000;
  const [told] = (await all[0]?.(1, { ...nothing, epoch: 1, answered: 1, refused: 1, holdUntil })) ?? [];
  expect(told?.at).toBeGreaterThanOrEqual(holdUntil);
  const [other] = (await all[1]?.(1)) ?? [];
  expect(other?.at).toBeGreaterThan(told?.at ?? 0);
});

test('a report counts once, and only in its own epoch', async () => {
  const { store, all } = instances([0]);
  await all[0]?.(1);
  await all[0]?.(1, { epoch: 1, answered: 5, refused: 2, holdUntil: 0 });
  await all[0]?.(1, { epoch: 0, answered: 9, refused: 9, holdUntil: 0 });
  expect((await store.read('charges'))?.window).toMatchObject({ answered: 5, refused: 2 });
});

test('one request in the usual case', async () => {
  const { store, all } = instances([0]);
  await all[0]?.(10);
  const before = store.requests;
  await all[0]?.(10);
  expect(store.requests - before).toBe(1);
});
