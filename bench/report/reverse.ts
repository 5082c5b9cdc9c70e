import pLimit from 'p-limit';
import { z } from 'zod';
import type { Instance } from '../../packages/jobs/src/instance.ts';
import { trackPayment } from '../../src/after/trackPayment.ts';
import { followUpsOf } from '../../src/invoice/followUps.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { stripeAmount } from '../../src/stripe/stripeAmount.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { unpaced } from '../../test/support/unpaced.ts';
import { fateOf, numbered } from './invoices.ts';

const atOnce = 16;
const disputeSchema = z.object({ id: z.string() });

/**
 * Refunds and disputes payments at the provider as their numbers say, and lets the app's tracking learn of it, as it does
 * after an event. Resolves with how many there were.
 */
export async function reverse(
  count: number,
  {
    invoices,
    instance,
    ...options
  }: { invoices: InvoiceStore; instance: Instance; secretKey: string; apiBase: string },
): Promise<number> {
  const timeoutMs = 60_000;
  const stripe = stripeClient({ ...options, timeoutMs });
  const provider = unpaced(stripeProvider({ ...options, timeoutMs }), { atOnce });
  const followUps = followUpsOf([]);
  const parts = { invoices, provider, followUps, settlement: defaultSettlementPolicy, instance };
  const limit = pLimit(atOnce);
  const reversed = Array.from({ length: count }, (_, n) => n).filter(
    (n) => !['paid', 'declined'].includes(fateOf(n)),
  );
  await Promise.all(reversed.map((n) => limit(() => reverseOne(n))));
  return reversed.length;

  async function reverseOne(n: number): Promise<void> {
    const { id, amountMinor, currency } = numbered(n);
    const payment = (await invoices.find(id))?.payment.id;
    if (payment === undefined) throw new Error(`${id} is not paid`);
    const fate = fateOf(n);
    if (fate === 'refunded') await stripe.refunds.create({ payment_intent: payment });
    else if (fate === 'refundedInPart') {
      const part = stripeAmount(Math.floor(amountMinor / 30) * 10, currency);
      if ('refused' in part) throw new Error(part.refused);
      await stripe.refunds.create({ payment_intent: payment, amount: part.amount });
    } else await dispute(payment, fate);
    const tracked = await trackPayment(parts, payment);
    if (tracked.kind !== 'changed') throw new Error(`${id}: ${JSON.stringify(tracked)}`);
  }

  async function dispute(paymentIntent: string, fate: string): Promise<void> {
    const { id } = disputeSchema.parse(await post('/_local/disputes', { paymentIntent }));
    if (fate !== 'disputed') await post(`/_local/disputes/${id}`, { status: fate });
  }

  async function post(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(options.apiBase + path, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  }
}
