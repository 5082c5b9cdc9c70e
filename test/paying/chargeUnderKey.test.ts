import { describe, expect, test } from 'vitest';
import { unknownSince } from '../../src/invoice/paymentState.ts';
import { chargeUnderKey } from '../../src/paying/chargeUnderKey.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import type { ChargeOutcome, FoundPayment, PaymentCalls } from '../../src/paying/paymentProvider.ts';
import { anInvoice } from '../support/anInvoice.ts';

const at = '2026-01-01T12:00:00.000Z';
const command = commandFor(anInvoice(), { attempt: 2, at });
const now = Date.parse(at) + 60_000;
const remembered: ChargeOutcome = { kind: 'unknown', message: '500', remembered: true };

function provider(charge: ChargeOutcome, find: FoundPayment): Pick<PaymentCalls, 'charge' | 'find'> {
  return { charge: async () => charge, find: async () => find };
}

test('a failure the provider remembers under the key: the payment is looked up', async () => {
  const found = provider(remembered, { kind: 'found', paymentId: 'pi_1' });
  expect(await chargeUnderKey(found, command, now)).toEqual({ kind: 'succeeded', paymentId: 'pi_1' });
});

test.each<FoundPayment>([{ kind: 'notFound' }, { kind: 'unknown', message: 'busy' }])(
  'a look-up that finds nothing proves nothing while the key is alive: %o',
  async (find) => {
    expect(await chargeUnderKey(provider(remembered, find), command, now)).toEqual(remembered);
  },
);

const differs: FoundPayment = { kind: 'differs', paymentId: 'pi_1', message: 'pi_1 over 1 usd' };

test.each([
  ['remembered', now],
  ['too old', now + 24 * 3600 * 1000],
])('a payment of another amount is for a person to look at (key %s)', async (_, at) => {
  const outcome = await chargeUnderKey(provider(remembered, differs), command, at);
  expect(outcome).toEqual({ kind: 'unclear', message: 'pi_1 over 1 usd' });
});

test('a new unknown outcome is retried, not looked up', async () => {
  const unknown: ChargeOutcome = { kind: 'unknown', message: 'time-out' };
  const paid = provider(unknown, { kind: 'found', paymentId: 'pi_1' });
  expect(await chargeUnderKey(paid, command, now)).toEqual(unknown);
});

const aDayOld = commandFor(anInvoice(), {
  attempt: 2,
  at: new Date(now - 24 * 3_600_000).toISOString(),
});

describe.each([
  ['deleted', 'was deleted at the provider'],
  ['unknown', 'does not know customer'],
  ['tooMany', 'too many payments'],
] as const)('an old key, and a list that cannot decide (%s)', (unlisted, why) => {
  const listless = provider(remembered, { kind: 'notFound', unlisted });

  test('a call may have charged: it is left to a person, and the reason names what ends it', async () => {
    const payment = unknownSince(aDayOld.payment, at);
    const outcome = await chargeUnderKey(listless, { ...aDayOld, payment }, now);
    expect(outcome).toMatchObject({ kind: 'unclear', message: expect.stringContaining(why) });
    expect(outcome).toMatchObject({
      message: expect.stringMatching(/void the invoice, or retry it with notCharged/),
    });
  });

  test('no call can have charged: the key starts over, and nobody is asked', async () => {
    expect(await chargeUnderKey(listless, aDayOld, now)).toEqual({ kind: 'unused' });
  });
});
