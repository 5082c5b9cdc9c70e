import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { erasedCustomer } from '../../src/invoice/erasure.ts';
import { foundAmong, ownershipOf } from '../../src/paying/foundPayment.ts';
import { noReversals } from '../../src/paying/mergeReversals.ts';
import type { PaymentProgress, ProviderPayment } from '../../src/paying/paymentProvider.ts';

const sought = { invoiceId: 'inv-1', customerId: 'cus-1', amountMinor: 1_000, currency: 'USD' };
const payment = (changes: Partial<ProviderPayment> = {}): ProviderPayment => ({
  kind: 'payment',
  paymentId: 'pi_1',
  invoiceId: 'inv-1',
  customerId: 'cus-1',
  amountMinor: 1_000,
  currency: 'USD',
  progress: { kind: 'succeeded' },
  reversals: noReversals,
  ...changes,
});
const at = '2026-01-01T00:00:00.000Z';
const refunded = (amountMinor: number) => ({
  refunds: [{ providerId: 're_1', amountMinor, status: 'succeeded' as const, at }],
  disputes: [],
});
const { customerId: _, ...withoutCustomer } = payment();

describe('a payment', () => {
  test.each([
    ['of ours', { madeBy: 'us' as const }, 'ours'],
    ['that names nobody', {}, 'ours'],
    ['of another amount', { amountMinor: 999 }, 'unclear'],
    ['of another currency', { madeBy: 'us' as const, currency: 'EUR' }, 'unclear'],
    ['of another customer', { customerId: 'cus-2' }, 'foreign'],
    ['of another customer, though we are named', { madeBy: 'us' as const, customerId: 'cus-2' }, 'foreign'],
    ['of another deployment', { madeBy: 'others' as const }, 'foreign'],
    ['of another deployment and amount', { madeBy: 'others' as const, amountMinor: 1 }, 'foreign'],
  ])('%s', (_what, changes, ownership) => {
    expect(ownershipOf(payment(changes), sought)).toBe(ownership);
  });

  test.each([
    ['of ours', { madeBy: 'us' as const }, 'ours'],
    ['of ours of another amount', { madeBy: 'us' as const, amountMinor: 999 }, 'unclear'],
    ['that names nobody', {}, 'foreign'],
    ['of another deployment', { madeBy: 'others' as const }, 'foreign'],
  ])('%s, of an invoice whose customer has been erased', (_what, changes, ownership) => {
    const erased = { ...sought, customerId: erasedCustomer };
    expect(ownershipOf(payment(changes), erased)).toBe(ownership);
  });

  test('without a customer is of somebody else', () => {
    expect(ownershipOf(withoutCustomer, sought)).toBe('foreign');
  });
});

describe('among several', () => {
  const alive = payment({ paymentId: 'pi_alive', progress: { kind: 'alive', state: 'processing' } });
  const paid = payment({ paymentId: 'pi_paid' });
  const part = payment({ paymentId: 'pi_part', reversals: refunded(300) });
  const gone = payment({ paymentId: 'pi_gone', reversals: refunded(1_000) });
  const other = payment({ paymentId: 'pi_other', amountMinor: 5 });
  const foreign = payment({ paymentId: 'pi_foreign', madeBy: 'others' });

  test.each([
    [
      'one that has succeeded counts before one that is alive',
      [alive, paid],
      { kind: 'found', paymentId: 'pi_paid' },
    ],
    ['one that is alive before one of another amount', [other, alive], { kind: 'processing' }],
    [
      'one of another amount before one that has gone back',
      [gone, other],
      { kind: 'differs', paymentId: 'pi_other' },
    ],
    [
      'one that has gone back in full if there is no other',
      [gone],
      { kind: 'reversed', paymentId: 'pi_gone' },
    ],
    ['one that has partly gone back, with what has', [part], { kind: 'found', reversals: refunded(300) }],
    [
      'one of somebody else is named and does not count',
      [foreign],
      { kind: 'notFound', foreign: ['pi_foreign'] },
    ],
    ['nothing', [], { kind: 'notFound' }],
  ])('%s', (_what, payments, expected) => {
    expect(foundAmong(payments, sought)).toMatchObject(expected);
  });

  const anyPayment = fc.record({
    madeBy: fc.constantFrom(undefined, 'us' as const, 'others' as const),
    customerId: fc.constantFrom('cus-1', 'cus-2'),
    amountMinor: fc.constantFrom(1_000, 999),
    currency: fc.constantFrom('USD', 'EUR'),
    progress: fc.constantFrom<PaymentProgress>(
      { kind: 'succeeded' },
      { kind: 'alive', state: 'processing' },
      { kind: 'canceled' },
      { kind: 'failed', severity: 'soft', code: 'c', message: 'm' },
    ),
    reversals: fc.constantFrom(noReversals, refunded(300), refunded(1_000)),
  });

  test('whatever there is, only a payment of this customer, amount and deployment is ever recorded', () => {
    fc.assert(
      fc.property(fc.array(anyPayment, { maxLength: 6 }), (all) => {
        const payments = all.map(({ madeBy, ...one }, n) =>
          payment({ ...one, paymentId: `pi_${n}`, ...(madeBy === undefined ? {} : { madeBy }) }),
        );
        const found = foundAmong(payments, sought);
        const live = payments.filter(
          ({ progress }) => progress.kind === 'succeeded' || progress.kind === 'alive',
        );
        const kinds = live.map((one) => ownershipOf(one, sought));
        if (found.kind === 'found' || found.kind === 'processing') {
          const chosen = payments.find(({ paymentId }) => paymentId === found.paymentId);
          expect(chosen).toMatchObject({ customerId: 'cus-1', amountMinor: 1_000, currency: 'USD' });
          expect(chosen?.madeBy).not.toBe('others');
        }
        if (found.kind === 'notFound') expect(kinds.every((kind) => kind === 'foreign')).toBe(true);
        if (found.kind === 'differs') expect(kinds).toContain('unclear');
      }),
    );
  });
});
