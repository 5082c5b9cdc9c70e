import { expect, test } from 'vitest';
import { cellsOf } from '../../bench/pace/cells.ts';
import { everyFiveMinutesFrom, tickAfter } from '../../bench/pace/schedule.ts';
import { parseSchedule } from '../../packages/local-azure/src/functionsHost/timer/schedule.ts';

test('cells are all combinations; the fleet changes with three hosts in the end, or two', () => {
  const cells = cellsOf({ rates: [25, 100], latencies: [300], hosts: [1, 8], changes: ['kill', 'add'] });
  expect(cells).toEqual([
    { rate: 25, latencyMs: 300, hosts: 1 },
    { rate: 25, latencyMs: 300, hosts: 8 },
    { rate: 100, latencyMs: 300, hosts: 1 },
    { rate: 100, latencyMs: 300, hosts: 8 },
    { rate: 25, latencyMs: 300, hosts: 3, change: 'kill' },
    { rate: 25, latencyMs: 300, hosts: 2, change: 'add' },
    { rate: 100, latencyMs: 300, hosts: 3, change: 'kill' },
    { rate: 100, latencyMs: 300, hosts: 2, change: 'add' },
  ]);
});

test.each(['2026-01-01T11:58:31.200Z', '2026-01-01T12:00:00.000Z', '2026-01-01T23:59:55.001Z'])(
  'the schedule ticks first when it should, and then every five minutes: %s',
  (now) => {
    const tick = tickAfter(Date.parse(now), 11_000);
    const schedule = parseSchedule(everyFiveMinutesFrom(tick));
    const first = schedule.next(Date.parse(now));
    expect(first).toBe(tick.getTime());
    expect(tick.getTime() - Date.parse(now)).toBeGreaterThanOrEqual(11_000);
    expect(schedule.next(tick.getTime())).toBe(tick.getTime() + 300_000);
  },
);
