import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import { workInFlight } from '../src/workInFlight.ts';

/** Work in flight on a virtual clock. `wait` waits for its end for at most `withinMs`. */
function watched(withinMs: number) {
  const clock = virtualClock();
  const work = workInFlight(clock);
  return {
    clock,
    track: <T>(one: Promise<T>) => work.track(one),
    wait: () => {
      const waiting = { over: false };
      void work.ended(withinMs).then(() => {
        waiting.over = true;
      });
      return waiting;
    },
  };
}

describe('workInFlight', () => {
  test('passes on what the work returns or throws', async () => {
    const work = workInFlight(virtualClock());
    expect(await work.track(Promise.resolve(5))).toBe(5);
    await expect(work.track(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  test('its end is immediate if nothing is in flight', async () => {
    const { clock, wait } = watched(1_000);
    const waiting = wait();
    await clock.advance(0);
    expect(waiting.over).toBe(true);
  });

  test('its end waits for all work, even if some of it fails', async () => {
    const { clock, track, wait } = watched(10_000);
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const failing = track(first.promise).catch(() => {});
    void track(second.promise);
    const waiting = wait();
    first.reject(new Error('no'));
    await failing;
    await clock.advance(100);
    expect(waiting.over).toBe(false);
    second.resolve();
    await clock.advance(0);
    expect(waiting.over).toBe(true);
  });

  test('its end does not wait for longer than the limit', async () => {
    const { clock, track, wait } = watched(1_000);
    void track(new Promise(() => {}));
    const waiting = wait();
    await clock.advance(999);
    expect(waiting.over).toBe(false);
    await clock.advance(1);
    expect(waiting.over).toBe(true);
  });

  test('its end does not wait for work that ended or failed before', async () => {
    const { clock, track, wait } = watched(1_000);
    await track(Promise.resolve());
    await track(Promise.reject(new Error('no'))).catch(() => {});
    const waiting = wait();
    await clock.advance(0);
    expect(waiting.over).toBe(true);
  });
});
