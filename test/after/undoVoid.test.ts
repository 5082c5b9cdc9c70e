import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideUndo, decideVoid } from '../../src/after/voidInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { wasVoided } from '../../src/invoice/namedPayments.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { anyPayment } from '../support/anyPayment.ts';

const at = '2026-01-01T12:00:00.000Z';
const dueAt = '2026-01-05T00:00:00.000Z';
const entry = (what: string, more: Record<string, string> = {}) => ({ at, what, by: 'ada', ...more });
const unused = { keyNumber: 1, declines: 0, deferrals: 0 };
const voided = (changes: Partial<Invoice> = {}) =>
  anInvoice({ status: 'voided', reason: 'a duplicate', dueAt, payment: unused, ...changes });
const mayBeCharged = { kind: 'mayBeCharged' };

describe('decideUndo', () => {
  test('of what was never claimed: it is due when it was', () => {
    const timeline = [
      entry('imported'),
      entry('note', { text: 'x' }),
      entry('voided', { reason: 'a duplicate' }),
    ];
    expect(decideUndo(voided({ timeline }))).toEqual({
      kind: 'change',
      change: { set: { status: 'pending', actionableAt: dueAt }, clear: ['reason'] },
    });
  });

  test.each<[string, Partial<Invoice>]>([
    ['its key has an age', { payment: { ...unused, keyCreatedAt: at } }],
    ['its key is the second one', { payment: { ...unused, keyNumber: 2 } }],
    // After a key that grew too old, which leaves no trace in the payment's state.
    [
      'it was claimed',
      { timeline: [entry('imported'), entry('claimed', { batchId: 'b' }), entry('voided')] },
    ],
    ['the provider was asked first', { timeline: [entry('imported'), entry('voided', { check: 'none' })] }],
    ['it names a payment', { timeline: [entry('payment of somebody else', { paymentId: 'pi_1' })] }],
    ['a charge may have gone through', { payment: { ...unused, unknownSince: at } }],
  ])('not if %s', (_, changes) => {
    expect(decideUndo(voided(changes))).toEqual(mayBeCharged);
  });

  test('not of a customer who has been erased, and of nothing that is not voided', () => {
    const erased = { at, content: 'hash' };
    expect(decideUndo(voided({ erased }))).toEqual({ kind: 'refused', status: 'voided' });
    for (const status of invoiceStatuses.filter((one) => one !== 'voided'))
      expect(decideUndo(voided({ status }))).toEqual({ kind: 'refused', status });
  });

  test('never where a void would have had to ask the provider', () => {
    fc.assert(
      fc.property(anyPayment, (payment) => {
        const invoice = voided({ payment });
        if (decideUndo(invoice).kind !== 'change') return;
        expect(decideVoid({ ...invoice, status: 'pending' })).toEqual({ kind: 'void' });
        expect(payment).not.toHaveProperty('keyCreatedAt');
        expect(payment.keyNumber).toBe(1);
      }),
    );
  });
});

test('after an undo a payment that turns up pays the invoice, as if it had never been voided', () => {
  const timeline = [entry('imported'), entry('voided')];
  expect(wasVoided({ timeline })).toBe(true);
  expect(wasVoided({ timeline: [...timeline, entry('void undone')] })).toBe(false);
  expect(wasVoided({ timeline: [...timeline, entry('void undone'), entry('voided')] })).toBe(true);
});
