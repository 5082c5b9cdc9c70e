import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reportKinds } from '../../src/invoice/counters/counters.ts';
import type { DayCount } from '../../src/invoice/store/invoiceStore.ts';
import { addUp } from '../../src/ops/report.ts';

test('adds up by day, currency and kind', () => {
  const one = (kind: DayCount['kind'], day: string, currency: string, amountMinor: number) => ({
    kind,
    day,
    currency,
    count: 1,
    amountMinor,
  });
  const { days, totals: currencies } = addUp([
    one('paid', '2026-03-02', 'USD', 1),
    one('paid', '2026-03-01', 'USD', 20),
    one('refunded', '2026-03-01', 'USD', 300),
    one('paid', '2026-03-01', 'EUR', 4000),
    { ...one('paid', '2026-03-01', 'USD', 50_000), count: 3 },
  ]);
  expect(days.map(({ day, currency, paid, refunded }) => [day, currency, paid, refunded])).toEqual([
    ['2026-03-01', 'EUR', { count: 1, amountMinor: 4000 }, { count: 0, amountMinor: 0 }],
    ['2026-03-01', 'USD', { count: 4, amountMinor: 50_020 }, { count: 1, amountMinor: 300 }],
    ['2026-03-02', 'USD', { count: 1, amountMinor: 1 }, { count: 0, amountMinor: 0 }],
  ]);
  expect(currencies.map(({ currency, paid }) => [currency, paid.amountMinor])).toEqual([
    ['EUR', 4000],
    ['USD', 50_021],
  ]);
});

const figure: fc.Arbitrary<DayCount> = fc.record({
  kind: fc.constantFrom(...reportKinds),
  day: fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-03'),
  currency: fc.constantFrom('USD', 'JPY', 'KWD'),
  count: fc.integer({ min: 1, max: 1000 }),
  amountMinor: fc.integer({ min: 1, max: 10 ** 12 }),
});

test('loses nothing, in whatever order it comes', () => {
  fc.assert(
    fc.property(fc.array(figure, { maxLength: 100 }), (all) => {
      const { days, totals: currencies } = addUp(all);
      for (const kind of reportKinds) {
        const ofKind = all.filter((one) => one.kind === kind);
        for (const rows of [days, currencies]) {
          expect(rows.reduce((sum, totals) => sum + totals[kind].amountMinor, 0)).toBe(
            ofKind.reduce((sum, { amountMinor }) => sum + amountMinor, 0),
          );
          expect(rows.reduce((sum, totals) => sum + totals[kind].count, 0)).toBe(
            ofKind.reduce((sum, { count }) => sum + count, 0),
          );
        }
      }
      expect(addUp(all.toReversed())).toEqual({ days, totals: currencies });
      expect(days.length).toBeLessThanOrEqual(3 * 3);
    }),
  );
});
