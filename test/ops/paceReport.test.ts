import { expect, test } from 'vitest';
import { newSchedule } from '../../packages/jobs/src/rate/schedule.ts';
import { backlogReport, paceReport } from '../../src/ops/summary.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');
const schedule = {
  ...newSchedule(25, now),
  next: now + 1_250,
  last: { rate: 24.5678, refusedShare: 0.0041 },
};

test('what is allowed, used and refused, and how long a call waits', () => {
  expect(paceReport(schedule, now)).toEqual({
    allowedPerSecond: 25,
    usedPerSecond: 24.568,
    refusedShare: 0.004,
    waitSeconds: 1.25,
  });
});

test('nothing is used once nobody has reserved anything for a minute', () => {
  expect(paceReport(schedule, now + 60_001)).toEqual({
    allowedPerSecond: 25,
    usedPerSecond: 0,
    refusedShare: 0,
    waitSeconds: 0,
  });
});

const since = new Date(now - 90_000).toISOString();
const charges = paceReport(schedule, now);

test.each([
  ['at what is used', charges, 41],
  ['at what is allowed, if nothing is', { ...charges, usedPerSecond: 0 }, 40],
  ['unknown, if nobody has paid yet', null, null],
])('how long the backlog takes: %s', (_, pace, estimatedSeconds) => {
  expect(backlogReport({ waiting: 900, claimed: 100, since }, pace, now)).toEqual({
    waiting: 900,
    claimed: 100,
    oldestSeconds: 90,
    estimatedSeconds,
  });
});

test('no backlog', () => {
  expect(backlogReport({ waiting: 0, claimed: 0 }, null, now)).toEqual({
    waiting: 0,
    claimed: 0,
    oldestSeconds: 0,
    estimatedSeconds: 0,
  });
});
