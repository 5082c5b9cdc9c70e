import { expect, test } from 'vitest';
import { memoryPaceStore } from '../../../../test/memory/memoryPaceStore.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { createPacer } from '../../src/rate/pacer.ts';
import { endOfWindow, newSchedule, stretchOf } from '../../src/rate/schedule.ts';

const stretch = { pace: 100, aheadMs: 3_000, storeMs: 8, wanted: 1_000 };

test('who has more ahead reserves more, within bounds', () => {
  const slots = [0, 0.25, 0.5, 1, 2, 4, 100].map((weight) => stretchOf({ ...stretch, weight }));
  expect(slots).toEqual([4, 4, 7, 13, 25, 50, 50]);
  expect(stretchOf(stretch)).toBe(13);
});

test('no stretch is longer than half a second for its weight, nor longer than what is wanted', () => {
  expect(stretchOf({ ...stretch, aheadMs: 0, weight: 4 })).toBe(50);
  expect(stretchOf({ ...stretch, wanted: 5, weight: 4 })).toBe(5);
});

test('what instances have ahead is averaged by window', () => {
  const { window, ...rest } = newSchedule(100, 0);
  const full = { ...rest, window: { ...window, answered: 400, reserved: 4, ahead: 1_000 } };
  const ended = endOfWindow(full, 100, 4_000);
  expect(ended?.last).toEqual({ rate: 100, refusedShare: 0, ahead: 250 });
  expect(ended?.window).toMatchObject({ reserved: 0, ahead: 0 });
  const silent = { ...rest, window: { ...window, answered: 400 } };
  expect(endOfWindow(silent, 100, 4_000)?.last).toEqual({ rate: 100, refusedShare: 0 });
});

test('instances with different backlogs are done at about the same time', async () => {
  const clock = virtualClock();
  const store = memoryPaceStore(() => clock.sleep(8));
  const backlogs = [1_800, 900, 450, 450];
  const ends = backlogs.map(() => 0);
  for (const [index, calls] of backlogs.entries()) {
    const instance = anInstance({ name: `host-${index}`, clock });
    const pacer = createPacer({ store, instance }, { limit: 'charges', ceiling: 50 });
    const before = clock.monotonic() + 600_000;
    for (let n = 0; n < calls; n++) {
      void pacer.turn(before).then(async (turn) => {
        await clock.sleep(300);
        turn?.answered();
        ends[index] = clock.monotonic();
      });
    }
  }
  const began = clock.monotonic();
  await clock.advance(90_000);
  const seconds = ends.map((end) => (end - began) / 1000);
  // 3,600 calls at 50 a second. With equal shares the smallest backlogs would be done after 36 s.
  expect(Math.max(...seconds)).toBeLessThan(76);
  expect(Math.min(...seconds)).toBeGreaterThan(50);
});
