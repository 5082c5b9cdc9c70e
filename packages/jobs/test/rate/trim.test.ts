import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Schedule } from '../../src/rate/paceStore.ts';
import { endOfWindow, newSchedule } from '../../src/rate/schedule.ts';

const ceiling = 100;

/** Lets windows pass in which `limit` calls per second are taken, and returns the schedule after each. */
function windows(from: Schedule, limits: readonly number[], lengthMs = 4_000): Schedule[] {
  let schedule = from;
  return limits.map((limit) => {
    const answered = Math.round((schedule.pace * lengthMs) / 1000);
    const refused = Math.max(0, answered - Math.round((limit * lengthMs) / 1000));
    const { since } = schedule.window;
    const full = { ...schedule, window: { since, answered, refused } };
    schedule = { ...full, ...endOfWindow(full, ceiling, since + lengthMs) };
    return schedule;
  });
}

const start = newSchedule(ceiling, 0);
const times = (count: number, limit: number) => Array<number>(count).fill(limit);

test('a provider that takes all leaves the pace at the ceiling', () => {
  expect(windows(start, times(5, 1_000)).map(({ pace, epoch }) => [pace, epoch])).toEqual(
    Array(5).fill([ceiling, 1]),
  );
});

test('a lot refused cuts the pace at once to what was taken', () => {
  const [after] = windows(start, [60]);
  expect(after?.pace).toBeCloseTo(60 * 0.99, 5);
  expect(after?.epoch).toBe(2);
});

test('a little refused cuts the pace only if it happens twice in a row: one stall must not slow down the fleet', () => {
  expect(windows(start, [95, 1_000, 95]).map(({ epoch }) => epoch)).toEqual([1, 1, 1]);
  expect(windows(start, [95, 95]).map(({ epoch }) => epoch)).toEqual([1, 2]);
});

test('after a cut the pace is held for ten seconds, for longer if the same limit is met again, then grows to the ceiling', () => {
  const [cut, ...held] = windows(start, [60, ...times(3, 60)]);
  expect(held.map(({ pace }) => pace)).toEqual([
    cut?.pace,
    cut?.pace,
    expect.closeTo((cut?.pace ?? 0) * 1.008, 0),
  ]);
  const again = windows(start, times(200, 60));
  expect(Math.max(...again.map(({ trim }) => trim.holdMs))).toBe(60_000);
  const freed = windows(again.at(-1) ?? start, times(60, 1_000));
  expect(freed.at(-1)?.pace).toBe(ceiling);
});

test('a window with few calls goes on, because a share of them says little', () => {
  const few = { ...start, window: { since: 0, answered: 50, refused: 3 } };
  expect(endOfWindow(few, ceiling, 4_000)).toBeUndefined();
  expect(endOfWindow(few, ceiling, 20_000)).toMatchObject({ pace: ceiling, trim: { strikes: 1 } });
  const lot = { ...start, window: { since: 0, answered: 50, refused: 20 } };
  expect(endOfWindow(lot, ceiling, 4_000)?.epoch).toBe(2);
  expect(endOfWindow(lot, ceiling, 3_999)).toBeUndefined();
});

test('a lower ceiling takes effect with the next window', () => {
  const full = { ...start, window: { since: 0, answered: 400, refused: 0 } };
  expect(endOfWindow(full, 30, 4_000)?.pace).toBe(30);
});

test('the pace stays between a hundredth of the ceiling and the ceiling, whatever happens', () => {
  const window = fc.record({
    answered: fc.nat(2_000),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    lengthMs: fc.integer({ min: 100, max: 3_600_000 }),
  });
  fc.assert(
    fc.property(fc.array(window, { maxLength: 50 }), (all) => {
      let schedule = start;
      for (const { answered, share, lengthMs } of all) {
        const { since } = schedule.window;
        const full = { ...schedule, window: { since, answered, refused: Math.floor(answered * share) } };
        const ended = endOfWindow(full, ceiling, since + lengthMs);
        schedule = { ...full, ...ended };
        expect(schedule.pace).toBeGreaterThanOrEqual(ceiling / 100);
        expect(schedule.pace).toBeLessThanOrEqual(ceiling);
        expect(schedule.trim.holdMs).toBeLessThanOrEqual(60_000);
      }
    }),
  );
});
