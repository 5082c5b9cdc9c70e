import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attentionCodes } from '../../src/ops/answers/overviewAnswers.ts';
import type { Summary } from '../../src/ops/answers/reportAnswers.ts';
import { attentionOf, parkedReasons } from '../../src/ops/overview.ts';

const now = Date.parse('2026-01-02T12:30:00.000Z');

function aSummary(changes: Partial<Summary> = {}): Summary {
  return {
    paused: null,
    invoices: { pending: 0, claimed: 0, processing: 0, paid: 0, declined: 0, parked: 0, voided: 0 },
    outbox: { pending: 0, parked: 0, oldestPendingSeconds: 0 },
    staleClaims: 0,
    charges: 0,
    refunded: [],
    overdueRefunds: 0,
    openDisputes: [],
    pace: { charges: null, lookups: null },
    backlog: { waiting: 0, claimed: 0, oldestSeconds: 0, estimatedSeconds: 0 },
    ...changes,
  };
}

describe('what needs a person', () => {
  test('is nothing on a good day', () => {
    expect(attentionOf(aSummary(), [], now)).toEqual([]);
  });

  test('comes in the order of urgency', () => {
    const { invoices, outbox } = aSummary();
    const summary = aSummary({
      invoices: { ...invoices, parked: 3, declined: 4 },
      outbox: { ...outbox, parked: 1 },
      staleClaims: 2,
      overdueRefunds: 1,
      openDisputes: [
        { currency: 'EUR', count: 1, amountMinor: 5 },
        { currency: 'USD', count: 2, amountMinor: 5 },
      ],
      backlog: { waiting: 9, claimed: 0, oldestSeconds: 1_800, estimatedSeconds: null },
    });
    const letters = [{ at: '2026-01-02T11:00:00.000Z' }, { at: '2026-01-02T09:14:00.000Z' }, { at: null }];
    expect(attentionOf(summary, letters, now)).toEqual([
      { code: 'nothing-paid', count: 9, since: '2026-01-02T12:00:00.000Z' },
      { code: 'disputes', count: 3, since: null },
      { code: 'refunds-overdue', count: 1, since: null },
      { code: 'dead-letters', count: 3, since: '2026-01-02T09:14:00.000Z' },
      { code: 'outbox-parked', count: 1, since: null },
      { code: 'invoices-parked', count: 3, since: null },
      { code: 'invoices-declined', count: 4, since: null },
      { code: 'stale-claims', count: 2, since: null },
    ]);
    expect(attentionOf(summary, letters, now).map(({ code }) => code)).toEqual(attentionCodes);
  });

  test('is not a backlog that waits for the end of a pause', () => {
    const paused = { reason: 'night', by: 'ada', at: '2026-01-02T12:00:00.000Z', until: null };
    const backlog = { waiting: 9, claimed: 0, oldestSeconds: 1_800, estimatedSeconds: null };
    expect(attentionOf(aSummary({ paused, backlog }), [], now)).toEqual([]);
  });

  test('is not a backlog that is being paid', () => {
    const charges = { allowedPerSecond: 25, usedPerSecond: 20, refusedShare: 0, waitSeconds: 1 };
    const backlog = { waiting: 90_000, claimed: 50, oldestSeconds: 3_600, estimatedSeconds: 4_500 };
    expect(attentionOf(aSummary({ backlog, pace: { charges, lookups: null } }), [], now)).toEqual([]);
  });
});

describe('the reasons of parked invoices', () => {
  test('are told apart by what stands before the colon', () => {
    const stored = new Map([
      ['the outcome is still unknown after 5 attempts: a', 2],
      ['the outcome is still unknown after 5 attempts: b', 3],
      ['currency not supported', 4],
    ]);
    expect(parkedReasons(stored)).toEqual([
      { reason: 'the outcome is still unknown after 5 attempts', count: 5 },
      { reason: 'currency not supported', count: 4 },
    ]);
  });

  test('are few, and none is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.nat({ max: 1_000 }))), (entries) => {
        const stored = new Map(entries);
        const shown = parkedReasons(stored);
        const sum = (counts: Iterable<number>) => [...counts].reduce((total, count) => total + count, 0);
        expect(shown.length).toBeLessThanOrEqual(9);
        expect(sum(shown.map(({ count }) => count))).toBe(sum(stored.values()));
      }),
    );
  });
});
