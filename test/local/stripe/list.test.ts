import { expect, test } from 'vitest';
import { charge, newInvoiceId, paymentsForFile } from './paymentsForTests.ts';

const { clock, stripe } = await paymentsForFile({ searchLagMs: 60_000 });

test('all payments since a time, page by page, the newest first, at once', async () => {
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

test('the first page says whether there are more', async () => {
  const { data, has_more } = await stripe.paymentIntents.list({ limit: 1 });
  expect(data).toHaveLength(1);
  expect(has_more).toBe(true);
});

test('what it does not do is refused by name', async () => {
  await expect(stripe.paymentIntents.list({ customer: 'cus_1' })).rejects.toMatchObject({ statusCode: 501 });
});
