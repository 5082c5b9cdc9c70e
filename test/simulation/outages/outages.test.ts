import { describe, expect, test } from 'vitest';
import { judgeOutage } from './judgeOutage.ts';
import { combinations, durations, type OutageCell } from './outageCell.ts';
import { runOutages } from './runOutages.ts';

test('each service alone and in pairs', () => {
  expect(combinations.map((away) => away.join('+'))).toEqual([
    'cosmos',
    'cosmos+serviceBus',
    'cosmos+storage',
    'cosmos+provider',
    'serviceBus',
    'serviceBus+storage',
    'serviceBus+provider',
    'storage',
    'storage+provider',
    'provider',
  ]);
  expect(durations).toEqual([1, 20, 180, 1800]);
});

// `npm run check -- outages` runs all of them.
test.each<OutageCell>([
  { away: ['provider'], minutes: 1, how: 'silent' },
  { away: ['serviceBus', 'storage'], minutes: 180, how: 'refused' },
  { away: ['storage', 'provider'], minutes: 1800, how: 'refused' },
])(
  '$away away for $minutes minutes: an alert, then all is paid and nothing is a dead letter',
  { timeout: 300_000 },
  async (cell) => {
    const [result] = await runOutages([cell], { seed: 1, jobs: 1 });
    expect(result?.wrong).toEqual([]);
    expect(result?.seen.backlog).toBeGreaterThan(50);
  },
);

describe('what is wrong with an outage', () => {
  const cell: OutageCell = { away: ['cosmos', 'provider'], minutes: 20, how: 'refused' };
  const well = {
    early: [],
    fired: { 'due-unpaid': 8, 'outbox-old': 15 },
    backlog: 300,
    unpaid: 0,
    idealMinutes: 5,
    paidAfterMinutes: 20,
    lookedUp: 2,
    lookedUpAfterMinutes: 90,
    gaveUp: { 'dead letters': 0 },
  };

  test('nothing', () => expect(judgeOutage(cell, well)).toEqual([]));

  test.each([
    [{ early: ['parked'] }, 'fired before it began: parked'],
    [{ fired: { 'outbox-old': 2 } }, 'no right alert within 10 minutes: {"outbox-old":2}'],
    [{ fired: { 'due-unpaid': 11 } }, 'no right alert within 10 minutes: {"due-unpaid":11}'],
    [{ unpaid: 1 }, '1 invoices are not paid'],
    [{ gaveUp: { 'dead letters': 3 } }, '3 dead letters'],
    [{ paidAfterMinutes: 31 }, 'paid after 31.0 minutes, more than 30.5'],
    [{ lookedUpAfterMinutes: 101 }, 'looked up and paid after 101.0 minutes'],
  ])('%o', (changed, expected) => {
    expect(judgeOutage(cell, { ...well, ...changed })).toEqual([expected]);
  });
});
