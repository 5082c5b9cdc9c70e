import { expect, test } from 'vitest';
import { parseSchedule } from '../../../src/functionsHost/timer/schedule.ts';
import { afterRun, never, resume } from '../../../src/functionsHost/timer/scheduleStatus.ts';

const everyFiveMinutes = parseSchedule('0 */5 * * * *');
const at = (time: string) => Date.parse(`2026-01-01T${time}Z`);
const iso = (time: string) => `2026-01-01T${time}.000+00:00`;

test('a timer without a record waits for its next occurrence', () => {
  expect(resume(undefined, everyFiveMinutes, at('00:01:00'))).toEqual({
    status: { Last: never, Next: iso('00:05:00'), LastUpdated: iso('00:01:00') },
    isPastDue: false,
  });
});

test('records the occurrence a run was for; skips occurrences it overran', () => {
  expect(afterRun(everyFiveMinutes, at('00:05:00'), at('00:12:00'))).toEqual({
    Last: iso('00:05:00'),
    Next: iso('00:15:00'),
    LastUpdated: iso('00:12:00'),
  });
});

test('a restart before the next occurrence changes nothing', () => {
  const recorded = afterRun(everyFiveMinutes, at('00:05:00'), at('00:05:01'));
  expect(resume(recorded, everyFiveMinutes, at('00:09:59'))).toEqual({ status: recorded, isPastDue: false });
});

test('a restart after the next occurrence is past due', () => {
  const recorded = afterRun(everyFiveMinutes, at('00:05:00'), at('00:05:01'));
  expect(resume(recorded, everyFiveMinutes, at('00:10:01')).isPastDue).toBe(true);
});

test('a timer that never ran is past due once its first occurrence has passed', () => {
  const { status } = resume(undefined, everyFiveMinutes, at('00:01:00'));
  expect(resume(status, everyFiveMinutes, at('00:05:01')).isPastDue).toBe(true);
});

test('a changed schedule restarts from the last run', () => {
  const recorded = afterRun(everyFiveMinutes, at('00:05:00'), at('00:05:01'));
  expect(resume(recorded, parseSchedule('0 0 * * * *'), at('00:30:00'))).toEqual({
    status: { Last: never, Next: iso('01:00:00'), LastUpdated: iso('00:05:00') },
    isPastDue: false,
  });
});
