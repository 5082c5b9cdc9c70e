import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Movement, movementKinds } from '../../src/invoice/store/movements.ts';
import { addUp } from '../../src/reporting/report.ts';

async function* pagesOf(...pages: Movement[][]) {
  yield* pages;
}

test('adds up by day, currency and kind', async () => {
  const one = (kind: Movement['kind'], at: string, currency: string, amountMinor: number) => ({
    kind,
    at,
    currency,
    amountMinor,
  });
  const { days, currencies } = await addUp(
    pagesOf(
      [
        one('paid', '2026-03-02T00:00:00.000Z', 'USD', 1),
        one('paid', '2026-03-01T23:59:59.999Z', 'USD', 20),
        one('refunded', '2026-03-01T00:00:00.000Z', 'USD', 300),
      ],
      [],
      [
        one('paid', '2026-03-01T12:00:00.000Z', 'EUR', 4000),
        one('paid', '2026-03-01T12:00:00.000Z', 'USD', 50_000),
      ],
    ),
  );
  expect(days.map(({ day, currency, totals }) => [day, currency, totals.paid, totals.refunded])).toEqual([
    ['2026-03-01', 'EUR', { count: 1, amountMinor: 4000n }, { count: 0, amountMinor: 0n }],
    ['2026-03-01', 'USD', { count: 2, amountMinor: 50_020n }, { count: 1, amountMinor: 300n }],
    ['2026-03-02', 'USD', { count: 1, amountMinor: 1n }, { count: 0, amountMinor: 0n }],
  ]);
  expect(currencies.map(({ currency, totals }) => [currency, totals.paid.amountMinor])).toEqual([
    ['EUR', 4000n],
    ['USD', 50_021n],
  ]);
});

const movement: fc.Arbitrary<Movement> = fc.record({
  kind: fc.constantFrom(...movementKinds),
  at: fc
    .date({ min: new Date('2026-01-01'), max: new Date('2026-01-04'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  currency: fc.constantFrom('USD', 'JPY', 'KWD'),
  amountMinor: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
});

test('loses nothing, in whatever pages and order it comes, also above what a double holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(movement, { maxLength: 20 }), { maxLength: 10 }), async (pages) => {
      const { days, currencies } = await addUp(pagesOf(...pages));
      const all = pages.flat();
      for (const kind of movementKinds) {
        const ofKind = all.filter((one) => one.kind === kind);
        for (const rows of [days, currencies]) {
          expect(rows.reduce((sum, { totals }) => sum + totals[kind].amountMinor, 0n)).toBe(
            ofKind.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n),
          );
          expect(rows.reduce((sum, { totals }) => sum + totals[kind].count, 0)).toBe(ofKind.length);
        }
      }
      const again = await addUp(pagesOf(all.toReversed()));
      expect(again).toEqual({ days, currencies });
      expect(days.length).toBeLessThanOrEqual(4 * 3);
    }),
  );
});
