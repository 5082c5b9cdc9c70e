import { expect, test } from 'vitest';
import { charge, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const searchLagMs = 60_000;
const { clock, stripe } = await paymentsForFile({ searchLagMs });

async function idsOf(query: string): Promise<string[]> {
  const { data } = await stripe.paymentIntents.search({ query });
  return data.map(({ id }) => id);
}

test('search finds a payment by metadata once the lag has passed', async () => {
  const invoiceId = newInvoiceId();
  const { id } = await stripe.paymentIntents.create(charge({ invoiceId }));
  const query = `metadata['invoiceId']:'${invoiceId}' AND status:'succeeded'`;
  expect(await idsOf(query)).toEqual([]);
  await clock.advance(searchLagMs - 1);
  expect(await idsOf(query)).toEqual([]);
  await clock.advance(1);
  expect(await idsOf(query)).toEqual([id]);
});

test('quotes and backslashes need escaping, other alphabets do not', async () => {
  for (const invoiceId of [`it's "a" \\ test`, 'счёт/№ 7 ☕']) {
    const { id } = await stripe.paymentIntents.create(charge({ invoiceId }));
    await clock.advance(searchLagMs);
    const escaped = invoiceId.replaceAll(/['"\\]/g, String.raw`\$&`);
    expect(await idsOf(`metadata['invoiceId']:'${escaped}'`)).toEqual([id]);
    expect(await idsOf(`metadata["invoiceId"]:"${escaped}"`)).toEqual([id]);
  }
});

test('search ignores case', async () => {
  const invoiceId = `Счёт-${newInvoiceId()}`;
  const ids: string[] = [];
  for (const each of [invoiceId.toLowerCase(), invoiceId.toUpperCase()]) {
    ids.unshift((await stripe.paymentIntents.create(charge({ invoiceId: each }))).id);
  }
  await clock.advance(searchLagMs);
  expect(await idsOf(`metadata['invoiceId']:'${invoiceId}'`)).toEqual(ids);
  expect(await idsOf(`metadata['invoiceId']:'${invoiceId}' AND status:'SUCCEEDED'`)).toEqual(ids);
  expect(await idsOf(`metadata['invoiceId']:'${invoiceId}' OR amount:1`)).toEqual(ids);
});

test('supports AND, OR, negation and number comparisons', async () => {
  const group = newInvoiceId();
  const create = (amount: number, payment_method: string) =>
    stripe.paymentIntents.create(charge({ invoiceId: group, amount, payment_method })).then(
      ({ id }) => id,
      (error: { payment_intent: { id: string } }) => error.payment_intent.id,
    );
  const small = await create(100, 'pm_card_visa');
  const large = await create(900, 'pm_card_visa');
  const declined = await create(500, 'pm_card_chargeDeclined');
  await clock.advance(searchLagMs);
  const mine = `metadata['invoiceId']:'${group}'`;
  expect(await idsOf(mine)).toEqual([declined, large, small]);
  expect(await idsOf(`${mine} status:"succeeded"`)).toEqual([large, small]);
  expect(await idsOf(`${mine} AND -status:'succeeded'`)).toEqual([declined]);
  expect(await idsOf(`${mine} AND amount>=500 AND amount<900`)).toEqual([declined]);
  expect(await idsOf(`${mine} AND currency:'eur'`)).toEqual([]);
  expect(await idsOf(`metadata['invoiceId']:'none' OR amount:900`)).toEqual([large]);
});

test('returns results in pages', async () => {
  const invoiceId = newInvoiceId();
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.unshift((await stripe.paymentIntents.create(charge({ invoiceId }))).id);
  await clock.advance(searchLagMs);
  const query = `metadata['invoiceId']:'${invoiceId}'`;
  const first = await stripe.paymentIntents.search({ query, limit: 2 });
  expect(first).toMatchObject({ object: 'search_result', has_more: true });
  const all: string[] = [];
  for await (const { id } of stripe.paymentIntents.search({ query, limit: 2 })) all.push(id);
  expect(all).toEqual(ids);
});

test.each([
  ['metadata', 400],
  ["status:'succeeded' AND", 400],
  ["status:'succeeded' AND currency:'usd' OR amount:1", 400],
  ["status~'succ'", 400],
  ["card.last4:'4242'", 400],
  ["brand:'visa'", 501],
])('%s is refused with %i', async (query, status) => {
  expect(await refusalOf(stripe.paymentIntents.search({ query }))).toMatchObject({ statusCode: status });
});
