// npm run pay-one -- --address http://127.0.0.1:7071/api [--create-customer | --customer cus_… --payment-method pm_…]
//
// Imports one due invoice into a running app, starts a run, and exits with 0 if the invoice gets paid. For
// test keys only. Real Stripe knows only customers created there: --create-customer creates one with a test card, with the
// test key in STRIPE_SECRET_KEY.
// Environment variables, if the app requires them: FUNCTIONS_KEY, and BEARER_TOKEN for a sign-in.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { isLiveKey, stripeClient } from '../src/stripe/stripeClient.ts';

const { values } = parseArgs({
  options: {
    address: { type: 'string', default: 'http://127.0.0.1:7071/api' },
    customer: { type: 'string', default: 'pay-one' },
    'create-customer': { type: 'boolean', default: false },
    'payment-method': { type: 'string', default: 'pm_card_visa' },
    // If the run started here finds a group's lease held, the timer of a deployed app comes within 5 minutes.
    'timeout-seconds': { type: 'string', default: '400' },
  },
});
const { FUNCTIONS_KEY: key, BEARER_TOKEN: token } = process.env;
const headers = {
  'content-type': 'application/json',
  ...(key === undefined ? {} : { 'x-functions-key': key }),
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
};
const stored = z.object({
  status: z.string(),
  actionableAt: z.string().nullable(),
  timeline: z.array(z.object({ what: z.string(), reason: z.string().optional() })),
});
const imported = z.object({ created: z.literal(1, { error: 'the app did not accept the invoice' }) });

const deadline = Date.now() + Number(values['timeout-seconds']) * 1000;
const invoice = {
  id: `pay-one-${randomUUID()}`,
  customerId: values['create-customer'] ? await createCustomer() : values.customer,
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2024-01-01T00:00:00Z',
  // The default of a customer that is created here.
  ...(values['create-customer'] ? {} : { paymentMethod: values['payment-method'] }),
};

imported.parse(await call('POST', 'ops/invoices', [invoice]));
await call('POST', 'ops/runs', { job: 'process-invoices' });

let { status, actionableAt, timeline } = await read();
// Stops if the invoice is final (paid, declined or parked) or its retry is due only after the deadline.
while (actionableAt !== null && Date.parse(actionableAt) < deadline && Date.now() < deadline) {
  await setTimeout(500);
  ({ status, actionableAt, timeline } = await read());
}
const { what = 'nothing happened', reason = '' } = timeline.at(-1) ?? {};
console.log(`${invoice.id}: ${status}${status === 'paid' ? '' : ` (${what}${reason && `: ${reason}`})`}`);
process.exitCode = status === 'paid' ? 0 : 1;

/** A customer of Stripe's test mode whose default payment method is a test card (https://docs.stripe.com/testing). */
async function createCustomer(): Promise<string> {
  const { STRIPE_SECRET_KEY: secretKey = '', STRIPE_API_BASE: apiBase = 'https://api.stripe.com' } =
    process.env;
  if (secretKey === '' || isLiveKey(secretKey))
    throw new Error('STRIPE_SECRET_KEY: expected the test key of the app (sk_test_… or rk_test_…)');
  const stripe = stripeClient({ secretKey, apiBase, timeoutMs: 30_000 });
  const card = values['payment-method'];
  const { id } = await stripe.customers.create({
    name: 'npm run pay-one',
    payment_method: card,
    invoice_settings: { default_payment_method: card },
  });
  return id;
}

async function read() {
  return stored.parse(await call('GET', `ops/invoices/${invoice.id}`));
}

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${values.address}/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
