import { expect, test } from 'vitest';
import { anInvoice } from '../support/anInvoice.ts';
import { mismatches } from './mismatches.ts';
import { eventStorm } from './storm.ts';

/** `npm run check -- events` is the same at full size. */
test('a storm of events: every answer is the expected one, and every invoice matches the ledger', async () => {
  const { problems, answers, charges, refunds, disputes, results } = await eventStorm({
    seed: 20_261,
    invoices: 60,
    deliveries: 700,
  });
  expect(problems).toEqual([]);
  expect(Object.keys(answers).filter((answer) => answer.endsWith('500'))).toEqual([]);
  // The storm was one.
  expect(Object.keys(answers)).toEqual(
    expect.arrayContaining(['real: 200', 'wrong secret: 400', 'unknown type: 200', 'a lie: 200']),
  );
  expect(Math.min(charges, refunds, disputes)).toBeGreaterThan(0);
  expect(results).toMatchObject({ recorded: expect.any(Number), 'nothing new': expect.any(Number) });
}, 120_000);

test.each([
  ['a charge that the invoice does not know', anInvoice({ status: 'declined' })],
  [
    'another payment',
    anInvoice({ status: 'paid', payment: { keyNumber: 1, declines: 0, deferrals: 0, id: 'pi_2' } }),
  ],
])('the comparison notices %s', (_, invoice) => {
  const charge = { invoiceId: 'inv-1', paymentIntent: 'pi_1', amount: 1999, currency: 'usd' };
  const ledger = { charges: [charge], refunds: [], disputes: [] };
  expect(mismatches([invoice], ledger, ['inv-1'])).not.toEqual([]);
  const payment = { keyNumber: 1, declines: 0, deferrals: 0, id: 'pi_1' };
  const right = anInvoice({ status: 'paid', payment });
  expect(mismatches([right], ledger, ['inv-1'])).toEqual([]);
  expect(mismatches([right], { ...ledger, charges: [charge, charge] }, ['inv-1'])).not.toEqual([]);
  const refunds = [{ invoiceId: 'inv-1', amount: 5, status: 'succeeded' }];
  expect(mismatches([right], { ...ledger, refunds }, ['inv-1'])).not.toEqual([]);
  const disputes = [{ payment_intent: 'pi_1', amount: 5, status: 'lost' }];
  expect(mismatches([right], { ...ledger, disputes }, ['inv-1'])).not.toEqual([]);
});
