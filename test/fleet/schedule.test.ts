import { expect, test } from 'vitest';
import { chaosSchedule, stopSchedule } from './schedule.ts';

const options = { seed: 7, durationMs: 600_000, hosts: 5 };

test('the same seed gives the same mishaps, another seed gives others', () => {
  expect(chaosSchedule(options)).toEqual(chaosSchedule(options));
  expect(chaosSchedule({ ...options, seed: 8 })).not.toEqual(chaosSchedule(options));
});

test('mishaps are in order, within the duration, and hit existing hosts', () => {
  const mishaps = chaosSchedule(options);
  expect(mishaps.map(({ at }) => at)).toEqual(mishaps.map(({ at }) => at).toSorted((a, b) => a - b));
  expect(mishaps.every(({ at }) => at > 0 && at < options.durationMs)).toBe(true);
  const hosts = mishaps.flatMap((mishap) => ('host' in mishap ? [mishap.host] : []));
  expect(new Set(hosts)).toEqual(new Set([0, 1, 2, 3, 4]));
});

test('ten minutes contain every kind of mishap', () => {
  const mishaps = chaosSchedule(options);
  const kinds = new Set(
    mishaps.map((mishap) =>
      mishap.kind === 'fault' ? `${mishap.service} ${String(mishap.fault.kind)}` : mishap.kind,
    ),
  );
  for (const kind of [
    'kill',
    'pause',
    'terminate',
    ...['429', '503', '408', 'reset-before', 'reset-after'].map((each) => `cosmos ${each}`),
    ...['drop-connection', 'expire-locks'].map((each) => `serviceBus ${each}`),
    ...['timeout-before', 'timeout-after', '500', '429', 'decline'].map((each) => `payments ${each}`),
  ]) {
    expect(kinds).toContain(kind);
  }
});

test('a server of locks adds its own mishaps and leaves the others as they are', () => {
  const alone = chaosSchedule(options);
  const withLocks = chaosSchedule({ ...options, lockServer: true });
  const gone = withLocks.filter(({ kind }) => kind === 'locks gone');
  expect(gone.length).toBeGreaterThan(10);
  expect(withLocks.filter(({ kind }) => kind !== 'locks gone')).toEqual(alone);
});

test('stops hit one host after another, and kills are spread over them', () => {
  const stops = stopSchedule({ seed: 7, durationMs: 60_000, hosts: 3, stops: 6, kills: 2 });
  expect(stops.map((stop) => ('host' in stop ? stop.host : undefined))).toEqual([0, 1, 2, 0, 1, 2]);
  expect(stops.map(({ kind }) => kind)).toEqual([
    'terminate',
    'terminate',
    'kill',
    'terminate',
    'terminate',
    'kill',
  ]);
  expect(stops.every(({ at }, n) => at >= n * 10_000 && at < (n + 1) * 10_000)).toBe(true);
});
