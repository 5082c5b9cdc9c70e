import { describe, expect, test } from 'vitest';
import { decideItemRetry, longestRefusedMs, type Retry } from '../../src/workItems/nextTry.ts';

const start = Date.parse('2026-01-01T12:00:00.000Z');
const hour = 3_600_000;
const evenly = () => 0.5;

/** All waits, in seconds, of a work item that keeps failing, or until it becomes poison. */
function waits(
  refused: boolean,
  untilMs: number,
  { random = evenly, before }: { random?: () => number; before?: Retry } = {},
) {
  const delays: number[] = [];
  let retry = before;
  for (let now = start; now < start + untilMs;) {
    const decision = decideItemRetry(retry, { now, refused, random });
    if (decision.kind === 'giveUp') break;
    delays.push(decision.delayMs / 1000);
    now += decision.delayMs;
    retry = decision.retry;
  }
  return delays;
}
const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);

describe('decideItemRetry', () => {
  test('doubles the wait each time, from ten seconds to at most ten minutes', () => {
    expect(waits(false, 2 * hour).slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  });

  test.each([0, 0.5, 0.999])('never gives up while something is away (random number %d)', (chance) => {
    expect(sum(waits(false, 100 * hour, { random: () => chance }))).toBeGreaterThanOrEqual(100 * 3600);
  });

  test.each([0, 0.5, 0.999])('gives up what is refused itself, after a day (random number %d)', (chance) => {
    const total = sum(waits(true, 100 * hour, { random: () => chance }));
    expect(total).toBeGreaterThanOrEqual(longestRefusedMs / 1000);
    expect(total).toBeLessThan(longestRefusedMs / 1000 + 720);
  });

  test('the day begins with the first refusal, however long something was away before', () => {
    const since = new Date(start - 50 * hour).toISOString();
    expect(sum(waits(true, 100 * hour, { before: { tries: 300, since } }))).toBeGreaterThanOrEqual(24 * 3600);
    const refusedSince = new Date(start - 24 * hour).toISOString();
    const before = { tries: 300, since, refusedSince };
    expect(decideItemRetry(before, { now: start, refused: true })).toEqual({ kind: 'giveUp' });
    expect(decideItemRetry(before, { now: start, refused: false })).toMatchObject({ kind: 'later' });
  });

  test('counts the tries, and keeps since when', () => {
    const since = new Date(start).toISOString();
    const asked = { now: start, refused: false };
    expect(decideItemRetry(undefined, asked)).toMatchObject({ retry: { tries: 1, since } });
    expect(decideItemRetry({ tries: 4, since }, { ...asked, now: start + 60_000 })).toMatchObject({
      retry: { tries: 5, since },
    });
  });
});
