import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import { type StopStep, stopApp, stopBudgetMs, stopInOrder } from '../src/stopping.ts';

/** Runs steps on a virtual clock; notes when each began, how long it had, and when all was over. */
function stopping(steps: readonly (Pick<StopStep, 'byMs'> & { takesMs: number; fails?: boolean })[]) {
  const clock = virtualClock(0);
  const began: { at: number; leftMs: number }[] = [];
  const result: { began: typeof began; overAt?: number } = { began };
  const stopped = stopInOrder(
    clock,
    steps.map(({ byMs, takesMs, fails = false }) => ({
      byMs,
      async run(leftMs) {
        began.push({ at: clock.monotonic(), leftMs });
        await clock.sleep(takesMs);
        if (fails) throw new Error('no');
      },
    })),
  ).then(() => {
    result.overAt = clock.monotonic();
  });
  return { clock, result, stopped };
}

describe('stopInOrder', () => {
  test('a step begins when the one before is done, and has what is left of its time', async () => {
    const { clock, result } = stopping([
      { byMs: 2_500, takesMs: 100 },
      { byMs: 3_000, takesMs: 200 },
    ]);
    await clock.advance(10_000);
    expect(result).toEqual({
      began: [
        { at: 0, leftMs: 2_500 },
        { at: 100, leftMs: 2_900 },
      ],
      overAt: 300,
    });
  });

  test('a step that hangs is left behind, and one that fails holds nothing up', async () => {
    const { clock, result } = stopping([
      { byMs: 2_500, takesMs: 1_000_000 },
      { byMs: 3_000, takesMs: 0, fails: true },
      { byMs: 4_000, takesMs: 1_000_000 },
    ]);
    await clock.advance(10_000);
    expect(result.began.map(({ at }) => at)).toEqual([0, 2_500, 2_500]);
    expect(result.overAt).toBe(4_000);
  });

  test('steps that are over before they begin still get their chance', async () => {
    const { clock, result } = stopping([
      { byMs: 3_000, takesMs: 3_000 },
      { byMs: 3_000, takesMs: 5_000 },
    ]);
    await clock.advance(10_000);
    expect(result).toEqual({
      began: [
        { at: 0, leftMs: 3_000 },
        { at: 3_000, leftMs: 0 },
      ],
      overAt: 3_000,
    });
  });
});

test('an app in which everything hangs is over in time, and each part has had its turn, leases and work first', async () => {
  const clock = virtualClock(0);
  const turns: [string, number][] = [];
  const hangs = (what: string) => () => {
    turns.push([what, clock.monotonic()]);
    return new Promise<never>(() => {});
  };
  let over: number | undefined;
  void stopApp(clock, {
    locks: { drain: hangs('leases') },
    work: hangs('work'),
    sender: { drained: hangs('follow-ups') },
    sendMetrics: hangs('metrics'),
    cloud: { close: hangs('connections') },
  }).then(() => {
    over = clock.monotonic();
  });
  await clock.advance(10_000);
  expect(turns).toEqual([
    ['leases', 0],
    ['work', 0],
    ['follow-ups', 2_500],
    ['metrics', 3_000],
    ['connections', 3_700],
  ]);
  expect(over).toBe(stopBudgetMs);
});
