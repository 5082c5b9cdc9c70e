import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterRenewal, timeOver } from '../src/renewal.ts';
import { startTenure } from '../src/tenure.ts';
import { leaseTiming } from '../src/timing.ts';

const timed = { timing: leaseTiming(30), random: () => 0.5 };
const tenure = startTenure(0, timed);
const failed = { kind: 'failed', detail: 'ECONNRESET' } as const;

describe('a tenure', () => {
  test('is trusted from when its request was sent, for the lease minus the margin', () => {
    expect(tenure).toEqual({ trustedUntil: 27_000, giveUpAt: 26_750, renewAt: 10_000, failures: 0 });
  });

  test.each([
    [0, 8000],
    [1, 12_000],
  ])('is renewed after a third of the lease, ± 20 %', (random, renewAt) => {
    expect(startTenure(0, { ...timed, random: () => random }).renewAt).toBe(renewAt);
  });
});

describe('after a renewal', () => {
  test('success extends trust from when the renewal was sent, not from when it was answered', () => {
    const decision = afterRenewal(tenure, 'renewed', { sentAt: 10_000, now: 14_900 }, timed);
    expect(decision).toMatchObject({ kind: 'held', trustedUntil: 37_000, failures: 0 });
  });

  test('a success that arrives after the trusted time revives nothing', () => {
    const decision = afterRenewal(tenure, 'renewed', { sentAt: 24_000, now: 27_000 }, timed);
    expect(decision).toMatchObject({ kind: 'lost', reason: 'expired' });
  });

  test('no answer is not a loss; the renewal is retried after one to two seconds', () => {
    const decision = afterRenewal(tenure, failed, { sentAt: 10_000, now: 15_000 }, timed);
    expect(decision).toMatchObject({ kind: 'held', trustedUntil: 27_000, renewAt: 16_500, failures: 1 });
  });

  test('no answer until the trusted time is over is a loss, with the last error', () => {
    const once = afterRenewal(tenure, failed, { sentAt: 10_000, now: 15_000 }, timed);
    if (once.kind === 'lost') throw new Error('lost too early');
    const decision = afterRenewal(once, failed, { sentAt: 22_000, now: 26_750 }, timed);
    expect(decision).toEqual({
      kind: 'lost',
      reason: 'unreachable',
      detail: 'renewals without an answer: 2; last error: ECONNRESET',
    });
  });

  test.each(['taken', 'broken', 'deleted'] as const)('%s: lost at once', (reason) => {
    const refused = { kind: 'refused', reason, detail: '409' } as const;
    const decision = afterRenewal(tenure, refused, { sentAt: 10_000, now: 10_005 }, timed);
    expect(decision).toEqual({ kind: 'lost', reason, detail: '409' });
  });

  test('success resets earlier failures', () => {
    const once = afterRenewal(tenure, failed, { sentAt: 10_000, now: 15_000 }, timed);
    if (once.kind === 'lost') throw new Error('lost too early');
    expect(afterRenewal(once, 'renewed', { sentAt: 16_500, now: 16_510 }, timed)).toEqual({
      kind: 'held',
      ...startTenure(16_500, timed),
    });
  });

  test('whatever happens, trust ends one margin before the lease that the last successful request started', () => {
    const outcome = fc.constantFrom('renewed' as const, failed);
    const step = fc.record({
      outcome,
      tookMs: fc.integer({ min: 0, max: 6000 }),
      random: fc.double({ min: 0, max: 0.99, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let held = startTenure(0, timed);
        let lastSent = 0;
        for (const { outcome, tookMs, random } of steps) {
          const sentAt = held.renewAt;
          const now = sentAt + tookMs;
          const decision = afterRenewal(held, outcome, { sentAt, now }, { ...timed, random: () => random });
          if (decision.kind === 'lost') {
            expect(now).toBeGreaterThanOrEqual(held.giveUpAt);
            return;
          }
          if (outcome === 'renewed') lastSent = sentAt;
          expect(decision.trustedUntil).toBeCloseTo(lastSent + 27_000, 6);
          held = decision;
        }
      }),
    );
  });
});

describe('when the trusted time is over', () => {
  test('and no renewal was sent: the process was paused', () => {
    expect(timeOver(tenure, 41_000)).toEqual({
      reason: 'expired',
      detail: 'no renewal was sent in time; noticed 14000 ms after the deadline',
    });
  });

  test('and a renewal is unanswered: the store was unreachable', () => {
    expect(timeOver(tenure, 27_000, true).reason).toBe('unreachable');
  });
});
