import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { noReversals } from '../../src/paying/mergeReversals.ts';
import { classifyIntent, progressOf } from '../../src/stripe/stripeIntent.ts';
import { paymentFrom, reversalsFrom } from '../../src/stripe/stripePayment.ts';

const declined = { kind: 'declined', message: 'words' } as const;

describe('the state of an intent as the outcome of a charge', () => {
  test.each([
    ['succeeded', { kind: 'succeeded', paymentId: 'pi_1' }],
    ['requires_payment_method', { kind: 'declined', severity: 'soft', code: 'requires_payment_method' }],
    ['canceled', { kind: 'declined', severity: 'hard', code: 'canceled' }],
    ['processing', { kind: 'processing', paymentId: 'pi_1', state: 'processing' }],
    ['requires_capture', { kind: 'processing', state: 'requires_capture' }],
    ['requires_action', { kind: 'processing', state: 'requires_action' }],
    ['a_status_of_tomorrow', { kind: 'processing', state: 'a_status_of_tomorrow' }],
  ])('%s', (status, outcome) => {
    expect(classifyIntent({ id: 'pi_1', status })).toMatchObject(outcome);
  });

  // https://docs.stripe.com/error-codes, https://docs.stripe.com/declines/codes
  test.each([
    ['insufficient_funds', 'soft'],
    ['could_not_process', 'soft'],
    ['account_closed', 'hard'],
    ['bank_account_restricted', 'hard'],
    ['debit_not_authorized', 'hard'],
    ['no_account', 'hard'],
  ] as const)('a debit that failed with %s is a %s decline', (code, severity) => {
    const last_payment_error = { code, message: 'words' };
    const intent = { id: 'pi_1', status: 'requires_payment_method', last_payment_error };
    expect(classifyIntent(intent)).toEqual({ ...declined, severity, code });
    expect(progressOf(intent)).toEqual({ kind: 'failed', severity, code, message: 'words' });
  });

  test('a card tells more by its decline code', () => {
    const last_payment_error = { code: 'card_declined', decline_code: 'lost_card', message: 'words' };
    expect(classifyIntent({ id: 'pi_1', status: 'requires_payment_method', last_payment_error })).toEqual({
      ...declined,
      severity: 'hard',
      code: 'lost_card',
    });
  });
});

test('whatever the status, a payment that may still move money never counts as declined', () => {
  const dead = new Set(['canceled', 'requires_payment_method']);
  fc.assert(
    fc.property(fc.string(), (status) => {
      const { kind } = classifyIntent({ id: 'pi_1', status });
      expect(kind === 'declined').toBe(dead.has(status));
    }),
  );
});

test('a payment that has succeeded brought what was captured, one that is alive may bring all of it', () => {
  const of = (status: string, received: number) => {
    const intent = {
      id: 'pi_1',
      status,
      amount: 10_000,
      amount_received: received,
      currency: 'eur',
      metadata: {},
    };
    return paymentFrom(intent as never, noReversals, undefined).amountMinor;
  };
  expect([of('succeeded', 100), of('succeeded', 12_000), of('requires_capture', 0)]).toEqual([
    100, 12_000, 10_000,
  ]);
});

test('a dispute that was prevented is lost if money was withdrawn for it', () => {
  const withdrawn = { amount: -1_000 };
  const statuses = [[], [withdrawn], [withdrawn, { amount: 1_000 }]].map((moved) => {
    const dispute = {
      status: 'prevented',
      amount: 1,
      currency: 'eur',
      created: 1,
      balance_transactions: moved,
    };
    return reversalsFrom([], [dispute as never], 'eur').disputes[0]?.status;
  });
  expect(statuses).toEqual(['won', 'lost', 'won']);
});

test('refunds and disputes come in minor units, in our words', () => {
  const refundId = `rf_${'x'.repeat(43)}`;
  const refund = {
    id: 're_1',
    amount: 200_000,
    status: 'requires_action',
    created: 1_800_000_000,
    reason: null,
    metadata: { refundId },
  };
  const notOurs = { ...refund, id: 're_2', reason: 'duplicate', status: 'failed', failure_reason: 'unknown' };
  const dispute = { id: 'dp_1', amount: 200, currency: 'isk', created: 1_800_000_001, reason: 'fraudulent' };
  const statuses = ['needs_response', 'won', 'warning_closed', 'lost'];
  const reversals = reversalsFrom(
    [refund as never, { ...notOurs, metadata: { refundId: 'somebody else’s' } } as never],
    [
      ...statuses.map((status) => ({ ...dispute, status }) as never),
      { ...dispute, amount: 199, currency: 'eur', status: 'lost' } as never,
    ],
    'isk',
  );
  expect(reversals.refunds).toEqual([
    {
      providerId: 're_1',
      refundId,
      amountMinor: 2_000,
      status: 'pending',
      at: '2027-01-15T08:00:00.000Z',
    },
    {
      providerId: 're_2',
      amountMinor: 2_000,
      status: 'failed',
      at: '2027-01-15T08:00:00.000Z',
      reason: 'duplicate',
      failure: 'unknown',
    },
  ]);
  expect(reversals.disputes.map(({ status }) => status)).toEqual(['open', 'won', 'won', 'lost', 'lost']);
  expect(reversals.disputes[0]).toEqual({
    id: 'dp_1',
    amountMinor: 2,
    status: 'open',
    at: '2027-01-15T08:00:01.000Z',
    reason: 'fraudulent',
  });
  // A dispute has an amount in a currency of its own.
  expect(reversals.disputes[4]).toMatchObject({ amountMinor: 199, currency: 'EUR' });
});
