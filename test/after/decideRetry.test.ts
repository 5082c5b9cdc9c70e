import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideRetry, waitsForRetry } from '../../src/after/retryInvoice.ts';
import type { Invoice, PaymentState } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { anyPayment } from '../support/anyPayment.ts';

const used: PaymentState = {
  keyNumber: 2,
  keyCreatedAt: '2026-01-01T10:00:00.000Z',
  paramsHash: 'h',
  declines: 3,
  deferrals: 4,
};

/** Names no payment. */
const timeline: Invoice['timeline'] = [];

describe('decideRetry', () => {
  test('a declined invoice gets the next key and a fresh schedule', () => {
    expect(decideRetry({ status: 'declined', payment: used, timeline })).toEqual({
      kind: 'retry',
      payment: { keyNumber: 3, declines: 0, deferrals: 0 },
    });
  });

  test('a parked invoice keeps its key, with its age and hash', () => {
    const payment = { ...used, unknownSince: '2026-01-01T10:00:01.000Z' };
    for (const one of [payment, used]) {
      expect(decideRetry({ status: 'parked', payment: one, timeline })).toEqual({
        kind: 'retry',
        payment: one,
      });
    }
  });

  test('a decline whose key may still have charged is not definite: the same key', () => {
    const payment = { ...used, unknownSince: '2026-01-01T10:00:01.000Z' };
    expect(decideRetry({ status: 'declined', payment, timeline })).toMatchObject({ payment });
  });

  test('a parked invoice gets a new key if someone vouches that nothing was charged', () => {
    const payment = { ...used, unknownSince: '2026-01-01T10:00:01.000Z' };
    expect(decideRetry({ status: 'parked', payment, timeline }, { notCharged: true })).toMatchObject({
      payment: { keyNumber: 3, declines: 0, deferrals: 0 },
    });
    for (const status of ['pending', 'claimed', 'processing', 'paid', 'voided'] as const)
      expect(decideRetry({ status, payment, timeline }, { notCharged: true }).kind).toBe('refused');
  });

  test.each(['pending', 'claimed', 'processing', 'paid', 'voided'] as const)('%s is refused', (status) => {
    expect(decideRetry({ status, payment: used, timeline })).toEqual({ kind: 'refused', status });
  });

  test.each(['parked', 'declined'] as const)(
    '%s, naming a payment: first the provider is asked about it',
    (status) => {
      const named = { at: '', what: 'parked', by: 'a', paymentId: 'pi_1' };
      const decision = decideRetry({ status, payment: used, timeline: [named] });
      expect(decision).toMatchObject({ kind: 'check', payment: { keyNumber: status === 'parked' ? 2 : 3 } });
      const ended = { at: '', what: 'retry: declined', by: 'a', paymentId: 'pi_1' };
      expect(decideRetry({ status, payment: used, timeline: [named, ended] }).kind).toBe('retry');
    },
  );

  test('a note since a soft decline changes nothing: another payment method is a new charge', () => {
    const soft = [{ at: '', what: 'retry: declined', by: 'a', reason: 'insufficient_funds' }];
    const noted = [...soft, { at: '', what: 'note', by: 'ada', text: 'she gives another card' }];
    const decided = (entries: Invoice['timeline']) =>
      decideRetry(
        { status: 'pending', payment: used, timeline: entries },
        { paymentMethod: 'pm_2' },
        { waits: true },
      );
    expect(decided(noted)).toEqual(decided(soft));
    expect(decided(noted)).toMatchObject({ kind: 'retry', payment: { keyNumber: 3 } });
  });

  const declinedSoftly = [{ at: '', what: 'retry: declined', by: 'a', reason: 'insufficient_funds' }];
  const tried = [
    ...declinedSoftly,
    { at: '', what: 'claimed', by: 'a' },
    { at: '', what: 'retry: transient', by: 'a' },
  ];

  test('one that waits after a soft decline gets the next key for another payment method, and a fresh schedule', () => {
    const payment: PaymentState = { keyNumber: 2, declines: 1, deferrals: 0 };
    const invoice = { status: 'pending', payment, timeline: declinedSoftly } as const;
    const otherCard = { paymentMethod: 'pm_2' };
    expect(decideRetry(invoice, otherCard, { waits: true })).toEqual({
      kind: 'retry',
      payment: { keyNumber: 3, declines: 0, deferrals: 0, method: { id: 'pm_2', from: 'retry' } },
    });
    expect(decideRetry(invoice, otherCard)).toEqual({ kind: 'refused', status: 'pending' });
  });

  test('one that waits after anything else is treated as one that is parked', () => {
    const unknown = { ...used, unknownSince: '2026-01-01T10:00:01.000Z' };
    for (const payment of [used, unknown])
      for (const wish of [{}, { paymentMethod: 'pm_2' }, { notCharged: true }])
        for (const entries of [tried, timeline])
          expect(
            decideRetry({ status: 'pending', payment, timeline: entries }, wish, { waits: true }),
          ).toEqual(decideRetry({ status: 'parked', payment, timeline: entries }, wish));
  });

  const wishes = fc.record(
    { notCharged: fc.boolean(), paymentMethod: fc.constantFrom('pm_1', 'pm_2') },
    { requiredKeys: [] },
  );

  const statuses = fc.constantFrom(...invoiceStatuses);
  const entriesBefore = fc.constantFrom(timeline, declinedSoftly, tried);

  test('without a check, a new key only after a definite decline; otherwise the next request repeats the last', () => {
    fc.assert(
      fc.property(
        statuses,
        anyPayment,
        wishes,
        entriesBefore,
        fc.boolean(),
        (status, payment, wish, timeline, waits) => {
          const decision = decideRetry({ status, payment, timeline }, wish, { waits });
          const isOpen = status === 'parked' || status === 'declined' || (status === 'pending' && waits);
          expect(decision.kind === 'refused').toBe(!isOpen);
          if (decision.kind === 'refused' || decision.kind === 'mayBeCharged') return;
          const next = commandFor(anInvoice({ payment: decision.payment }), {
            attempt: 1,
            at: 'now',
          }).payment;
          if (next.keyNumber === payment.keyNumber) {
            expect(decision.kind).toBe('retry');
            expect(next.keyCreatedAt).toBe(payment.keyCreatedAt ?? 'now');
            if (payment.paramsHash !== undefined) expect(next.paramsHash).toBe(payment.paramsHash);
            expect(next.unknownSince).toBe(payment.unknownSince);
            expect(wish.paymentMethod).toBeUndefined();
            return;
          }
          expect(next).toMatchObject({ keyNumber: payment.keyNumber + 1, keyCreatedAt: 'now' });
          expect(next.unknownSince).toBeUndefined();
          const wasDeclined = status === 'declined' || (status === 'pending' && timeline === declinedSoftly);
          const isDefinite = wasDeclined && payment.unknownSince === undefined;
          expect(decision.kind).toBe(isDefinite ? 'retry' : 'check');
        },
      ),
    );
  });
});

test('an invoice waits for a retry until the moment at which it is due', () => {
  const [dueAt, now] = ['2026-01-01T12:00:00.000Z', '2026-01-03T12:00:00.000Z'];
  const waits = (actionableAt: string) => waitsForRetry({ status: 'pending', dueAt, actionableAt }, now);
  expect(waits('2026-01-03T12:00:00.001Z')).toBe(true);
  expect(waits(now)).toBe(false);
});
