import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import { functionTimeoutMs, TimeIsUp, timeBudget } from '../src/timeBudget.ts';

test('the time limit is the one in host.json', () => {
  const hostJson: unknown = JSON.parse(readFileSync(new URL('../../../host.json', import.meta.url), 'utf8'));
  const { functionTimeout } = z.object({ functionTimeout: z.string() }).parse(hostJson);
  const [hours = 0, minutes = 0, seconds = 0] = functionTimeout.split(':').map(Number);
  expect(functionTimeoutMs).toBe(((hours * 60 + minutes) * 60 + seconds) * 1000);
});

test('it aborts half a minute before the host would kill the process', async () => {
  const clock = virtualClock();
  using budget = timeBudget(clock);
  await clock.advance(functionTimeoutMs - 30_001);
  expect(budget.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(budget.signal.reason).toBeInstanceOf(TimeIsUp);
});

test('another limit may be given, or none', async () => {
  const clock = virtualClock();
  using short = timeBudget(clock, undefined, 5_000);
  using endless = timeBudget(clock, undefined, Number.POSITIVE_INFINITY);
  expect(clock.sleepers()).toBe(1);
  await clock.advance(5_000);
  expect(short.signal.reason).toBeInstanceOf(TimeIsUp);
  expect(endless.signal.aborted).toBe(false);
});

test('it aborts with the given signal, and leaves no timer behind once disposed of', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  {
    using budget = timeBudget(clock, stop.signal);
    stop.abort(new Error('the host is stopping'));
    expect(budget.signal.reason).toEqual(new Error('the host is stopping'));
    expect(clock.sleepers()).toBe(1);
  }
  expect(clock.sleepers()).toBe(0);
});
