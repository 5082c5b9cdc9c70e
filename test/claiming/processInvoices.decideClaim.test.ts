import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideClaim } from '../../src/claiming/claimBatch.ts';
import { maxAttempts } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { aClaimedInvoice, anInvoice } from '../support/anInvoice.ts';

describe('decideClaim', () => {
  const noon = '2026-01-01T12:00:00.000Z';

  test('a pending invoice is claimed from the moment it is due', () => {
    expect(decideClaim(anInvoice(), noon)).toEqual({ kind: 'claim', attempt: 1 });
    expect(decideClaim(anInvoice(), '2026-01-01T11:59:59.999Z')).toEqual({ kind: 'skip', why: 'notDue' });
  });

  test('a claim is left alone until it is stale, then taken over as another attempt', () => {
    const invoice = aClaimedInvoice();
    expect(decideClaim(invoice, '2026-01-01T12:05:01.000Z')).toEqual({
      kind: 'reclaim',
      attempt: 2,
      from: 'host-a',
      called: true,
    });
    expect(decideClaim(invoice, '2026-01-01T12:05:00.999Z')).toEqual({ kind: 'skip', why: 'notDue' });
  });

  test('after the last attempt it is parked for a person', () => {
    const invoice = aClaimedInvoice({ attempts: maxAttempts });
    expect(decideClaim(invoice, '2026-01-01T12:05:01.000Z')).toMatchObject({ kind: 'park' });
  });

  test('a claim whose calls never began charged nothing, so it does not count as an attempt', () => {
    for (const attempts of [1, maxAttempts]) {
      const invoice = aClaimedInvoice({ attempts }, { phase: 'claimed' });
      expect(decideClaim(invoice, '2026-01-01T12:05:01.000Z')).toEqual({
        kind: 'reclaim',
        attempt: attempts,
        from: 'host-a',
        called: false,
      });
    }
  });

  test.each(['paid', 'declined', 'parked'] as const)(
    '%s is final, even with an `actionableAt` left behind',
    (status) => {
      expect(decideClaim(anInvoice({ status }), noon)).toEqual({ kind: 'skip', why: 'settled' });
    },
  );

  test('every claimed invoice was open, due and within its attempts', () => {
    const times = fc.integer({ min: 0, max: 10 }).map((minute) => new Date(minute * 60_000).toISOString());
    fc.assert(
      fc.property(
        fc.constantFrom(...invoiceStatuses),
        fc.constantFrom('claimed' as const, 'calling' as const),
        fc.integer({ min: 1, max: maxAttempts }),
        times,
        times,
        (status, phase, attempts, actionableAt, now) => {
          const invoice = aClaimedInvoice({ status, attempts, actionableAt }, { phase });
          const decision = decideClaim(invoice, now);
          if (decision.kind !== 'claim' && decision.kind !== 'reclaim') return;
          expect(['pending', 'claimed']).toContain(status);
          expect(actionableAt <= now).toBe(true);
          const counted = status === 'pending' || phase === 'calling';
          expect(decision.attempt).toBe(counted ? attempts + 1 : attempts);
          expect(decision.attempt).toBeLessThanOrEqual(maxAttempts);
        },
      ),
    );
  });
});
