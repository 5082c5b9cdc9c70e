import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSampled, shareOf } from '../../src/platform/spanSampling.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('sampling', () => {
  test('keeps every span that is not about one of many', () => {
    fc.assert(
      fc.property(fc.string(), (batch) => {
        expect(isSampled(traceId, { 'batch.id': batch, 'run.id': 'r' }, 0)).toBe(true);
      }),
    );
  });

  test('takes the payment of an invoice and its receipt together, whatever processes they happen in', () => {
    fc.assert(
      fc.property(fc.string(), fc.double({ min: 0, max: 1, noNaN: true }), (id, ratio) => {
        const payment = isSampled(traceId, { 'invoice.id': id, 'batch.id': 'b' }, ratio);
        expect(isSampled(traceId, { 'work_item.resource': id, 'work_item.stage': 's' }, ratio)).toBe(payment);
      }),
    );
  });

  test('takes none at 0 and all at 1', () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        expect(isSampled(traceId, { 'invoice.id': id }, 0)).toBe(false);
        expect(isSampled(traceId, { 'invoice.id': id }, 1)).toBe(true);
      }),
    );
  });

  test.each([0.01, 0.1, 0.5])('takes about a share of %d, of ids that hardly differ', (ratio) => {
    const count = 20_000;
    const taken = Array.from({ length: count }, (_, n) => shareOf(traceId, `inv-${n}`)).filter(
      (share) => share < ratio,
    ).length;
    // Six standard deviations.
    expect(Math.abs(taken - count * ratio)).toBeLessThan(6 * Math.sqrt(count * ratio * (1 - ratio)));
  });

  test('takes other invoices in another trace', () => {
    const other = traceId.replace('4', '5');
    const ids = Array.from({ length: 200 }, (_, n) => `inv-${n}`);
    const chosen = (trace: string) => ids.filter((id) => shareOf(trace, id) < 0.5);
    expect(chosen(other)).not.toEqual(chosen(traceId));
  });
});
