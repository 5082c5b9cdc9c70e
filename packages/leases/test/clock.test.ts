import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';

test('a sleep lasts its full time', async () => {
  const before = systemClock.monotonic();
  await systemClock.sleep(20, new AbortController().signal);
  expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(19);
});

test('a sleep rejects with the reason of its signal, whether it aborts before or during the sleep', async () => {
  const stop = new AbortController();
  const asleep = systemClock.sleep(60_000, stop.signal);
  stop.abort(new Error('enough'));
  await expect(asleep).rejects.toThrow('enough');
  await expect(systemClock.sleep(60_000, stop.signal)).rejects.toThrow('enough');
});
