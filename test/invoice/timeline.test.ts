import { expect, test } from 'vitest';
import { otherPayments, wasVoided } from '../../src/invoice/namedPayments.ts';
import { maxEntries, shortened } from '../../src/invoice/timeline.ts';

test('a timeline that is cut still says that it was voided, and what became of each payment, and where its archived copy is', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const entry = (what: string, more: object = {}) => ({ at, by: 'host-a', what, ...more });
  const timeline = [
    entry('imported'),
    entry('restored from the archive', { archivedAt: at }),
    entry('second payment', { paymentId: 'pi_2' }),
    entry('retry: declined', { paymentId: 'pi_3' }),
    entry('voided'),
    ...Array.from({ length: maxEntries }, () => entry('still in progress', { paymentId: 'pi_1', checks: 1 })),
  ];
  const kept = shortened(timeline);
  expect(kept.length).toBeLessThan(maxEntries);
  expect(wasVoided({ timeline: kept })).toBe(true);
  expect(kept).toContainEqual(expect.objectContaining({ archivedAt: at }));
  const payment = { keyNumber: 1, declines: 0, deferrals: 0 };
  expect(otherPayments({ payment, timeline: kept }, 'pi_1')).toEqual(['pi_2']);
});
