// npm run pay-one -- --address http://127.0.0.1:7071/api: stores one due invoice in a running app, and ends with 0 when it
// is paid. Only for test keys: it is paid with Stripe's test card.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';

const { values } = parseArgs({
  options: {
    address: { type: 'string', default: 'http://127.0.0.1:7071/api' },
    'timeout-seconds': { type: 'string', default: '90' },
  },
});
const { FUNCTIONS_KEY: key } = process.env;
const headers = {
  'content-type': 'application/json',
  ...(key === undefined ? {} : { 'x-functions-key': key }),
};
const deadline = Date.now() + Number(values['timeout-seconds']) * 1000;
const invoice = {
  id: `pay-one-${randomUUID()}`,
  customerId: 'pay-one',
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2024-01-01T00:00:00Z',
  paymentMethod: 'pm_card_visa',
};

const stored = await fetch(`${values.address}/ops/invoices`, {
  method: 'POST',
  headers,
  body: JSON.stringify([invoice]),
});
if (!stored.ok) throw new Error(`storing the invoice: ${stored.status} ${await stored.text()}`);

let status = 'pending';
while (status !== 'paid' && Date.now() < deadline) {
  await setTimeout(500);
  const response = await fetch(`${values.address}/ops/invoices/${invoice.id}`, { headers });
  if (response.ok) status = z.object({ status: z.string() }).parse(await response.json()).status;
}
console.log(`${invoice.id}: ${status}`);
process.exitCode = status === 'paid' ? 0 : 1;
