import { describe, expect, test } from 'vitest';
import { decidePostponement, longestRetryMs, type Retry } from '../../src/workItems/decidePostponement.ts';

const start = Date.parse('2026-01-01T12:00:00.000Z');
const evenly = () => 0.5;

/** All waits, in seconds, of a work item that can never be done. */
function waits(random = evenly): number[] {
  const delays: number[] = [];
  let now = start;
  let retry: Retry | undefined;
  for (;;) {
    const decision = decidePostponement(retry, now, random);
    if (decision.kind === 'giveUp') return delays;
    delays.push(decision.delayMs / 1000);
    now += decision.delayMs;
    retry = decision.retry;
  }
}

describe('decidePostponement', () => {
  test('doubles the wait each time, from ten seconds to at most a quarter of an hour', () => {
    expect(waits().slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 640, 900]);
  });

  test.each([0, 0.5, 0.999])('gives up after a day (random number %d)', (chance) => {
    const total = waits(() => chance).reduce((sum, wait) => sum + wait, 0);
    expect(total).toBeGreaterThanOrEqual(longestRetryMs / 1000);
    expect(total).toBeLessThan(longestRetryMs / 1000 + 1_080);
  });

  test('counts the tries; the day begins with the first', () => {
    const since = new Date(start).toISOString();
    expect(decidePostponement(undefined, start)).toMatchObject({ retry: { tries: 1, since } });
    expect(decidePostponement({ tries: 4, since }, start + 60_000)).toMatchObject({
      retry: { tries: 5, since },
    });
  });
});
