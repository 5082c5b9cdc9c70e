import { expect, test } from 'vitest';
import { charge, newInvoiceId, paymentsForFile } from './paymentsForTests.ts';

const { clock, stripe } = await paymentsForFile({ searchLagMs: 60_000 });

test('lists all payments since a time, newest first, in pages, without lag', async () => {
  await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
  await clock.advance(5_000);
  const since = Math.floor(clock.now() / 1000);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++)
    ids.unshift((await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }))).id);
  const listed: string[] = [];
  for await (const { id } of stripe.paymentIntents.list({ created: { gte: since }, limit: 2 }))
    listed.push(id);
  expect(listed).toEqual(ids);
});

test('a page tells whether more follow', async () => {
  const { data, has_more } = await stripe.paymentIntents.list({ limit: 1 });
  expect(data).toHaveLength(1);
  expect(has_more).toBe(true);
});

test('an unsupported parameter is 501', async () => {
  await expect(stripe.paymentIntents.list({ ending_before: 'pi_1' })).rejects.toMatchObject({
    statusCode: 501,
  });
});

test('the payments of one customer', async () => {
  const ids = await Promise.all(
    ['cus_a', 'cus_b', 'cus_a'].map(async (customer) => {
      const { id } = await stripe.paymentIntents.create({ amount: 100, currency: 'usd', customer });
      return { id, customer };
    }),
  );
  const { data } = await stripe.paymentIntents.list({ customer: 'cus_a' });
  const expected = ids.filter(({ customer }) => customer === 'cus_a').map(({ id }) => id);
  expect(data.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
});
