import { describe, expect, test } from 'vitest';
import { isSlow, parseSchedule } from '../../../src/functionsHost/timer/schedule.ts';

const at = (text: string) => Date.parse(text);

describe('next occurrence', () => {
  test.each([
    ['0 */5 * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:05:00Z'],
    ['*/5 * * * *', '2026-01-01T00:00:01Z', '2026-01-01T00:05:00Z'],
    ['*/10 * * * * *', '2026-01-01T00:00:01Z', '2026-01-01T00:00:10Z'],
    ['0 30 9 * * Mon-Fri', '2026-01-03T00:00:00Z', '2026-01-05T09:30:00Z'],
    ['0 0 12 * Feb *', '2026-01-03T00:00:00Z', '2026-02-01T12:00:00Z'],
    // From second 5 on, every 15.
    ['5/15 * * * * *', '2026-01-01T00:00:06Z', '2026-01-01T00:00:20Z'],
    // NCRONTAB requires both days to match: the first Friday the 13th.
    ['0 0 0 13 * 5', '2026-01-01T00:00:00Z', '2026-02-13T00:00:00Z'],
  ])('%s after %s', (expression, after, expected) => {
    expect(parseSchedule(expression).next(at(after))).toBe(at(expected));
  });

  test('a date that does not exist has no next occurrence', () => {
    expect(parseSchedule('0 0 0 31 2 *').next(at('2026-01-01T00:00:00Z'))).toBeUndefined();
  });
});

test.each([
  '* * * *',
  '* * * * * * *',
  '@daily',
  '0 0 0 L * *',
  '0 0 0 * * Fri#2',
  '99 * * * * *',
  'often',
  '00:05:00',
])('%s is refused', (expression) => {
  expect(() => parseSchedule(expression)).toThrow(`the schedule '${expression}'`);
});

test('a schedule is slow if its occurrences are at least a minute apart', () => {
  const now = at('2026-01-01T00:00:00Z');
  expect(isSlow(parseSchedule('0 * * * * *'), now)).toBe(true);
  expect(isSlow(parseSchedule('*/30 * * * * *'), now)).toBe(false);
  expect(isSlow(parseSchedule('0,30 0 * * * *'), now)).toBe(false);
});
