import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideVoid, voided } from '../../src/after/voidInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { nextKey } from '../../src/invoice/paymentState.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { anyPayment } from '../support/anyPayment.ts';

const inProgress = { id: 'pi_1', state: 'processing', since: '2026-01-01T12:00:00.000Z', checks: 2 };
const unused = { keyNumber: 1, declines: 0, deferrals: 0 };

describe('decideVoid', () => {
  test('what was never claimed is voided, and what the provider declined for certain', () => {
    expect(decideVoid({ status: 'pending', payment: unused, timeline: [] })).toEqual({ kind: 'void' });
    const { payment } = commandFor(anInvoice(), { attempt: 1, at: '2026-01-01T12:00:00.000Z' });
    expect(decideVoid({ status: 'declined', payment, timeline: [] })).toEqual({ kind: 'void' });
    const declinedSoftly = nextKey(payment, { declines: 1 });
    expect(decideVoid({ status: 'pending', payment: declinedSoftly, timeline: [] })).toEqual({
      kind: 'void',
    });
  });

  test('what is alive has to be canceled', () => {
    expect(decideVoid({ status: 'processing', payment: { ...unused, inProgress }, timeline: [] })).toEqual({
      kind: 'cancel',
      paymentId: 'pi_1',
    });
  });

  test.each(['claimed', 'paid', 'voided'] as const)('%s is refused', (status) => {
    expect(decideVoid({ status, payment: unused, timeline: [] })).toEqual({ kind: 'refuse', status });
  });

  test.each(['pending', 'declined'] as const)(
    '%s, and it names a payment that nobody has recorded: the provider is asked first',
    (status) => {
      const at = '2026-01-01T12:00:00.000Z';
      const named = { at, what: 'parked', by: 'host-1', paymentId: 'pi_1' };
      expect(decideVoid({ status, payment: unused, timeline: [named] })).toEqual({ kind: 'check' });
      const ended = { at, what: 'declined', by: 'host-1', paymentId: 'pi_1' };
      expect(decideVoid({ status, payment: unused, timeline: [named, ended] })).toEqual({ kind: 'void' });
    },
  );

  test('never without a check while a call under its key may have been made', () => {
    fc.assert(
      fc.property(fc.constantFrom(...invoiceStatuses), anyPayment, (status, payment) => {
        const { kind } = decideVoid({ status, payment, timeline: [] });
        if (kind !== 'void') return;
        expect(['pending', 'declined']).toContain(status);
        expect(payment.unknownSince).toBeUndefined();
        if (status === 'pending') expect(payment.keyCreatedAt).toBeUndefined();
      }),
    );
  });
});

test('a voided invoice waits for nothing', () => {
  const invoice: Invoice = anInvoice({
    status: 'processing',
    payment: { ...unused, unknownSince: '2026-01-01T12:00:00.000Z', inProgress },
  });
  expect(voided(invoice, 'a duplicate')).toEqual({
    set: { status: 'voided', reason: 'a duplicate', payment: unused },
    clear: ['actionableAt', 'checkAt', 'declinedAt'],
  });
});
