/** Checks that the invoices and the provider's ledger agree, to the minor unit. */
import type Stripe from 'stripe';
import { z } from 'zod';
import { type Invoice, invoiceSchema } from '../../src/invoice/invoice.ts';
import { databaseName } from '../../src/platform/cosmosContainers.ts';
import type { LocalCloud } from '../support/localCloud.ts';

/** `DEPLOYMENT_ID` of the hosts. */
export const deployment = 'storm';

export interface StormInvoice {
  id: string;
  customerId: string;
  amountMinor: number;
  currency: string;
  dueAt: string;
  paymentMethod: string;
}

export interface StormLedger {
  payments: Stripe.PaymentIntent[];
  refunds: Stripe.Refund[];
  disputes: Stripe.Dispute[];
}

export async function readStored(cloud: LocalCloud): Promise<Invoice[]> {
  const container = cloud.cosmosClient.database(databaseName).container('invoices');
  const { resources } = await container.items.query("SELECT * FROM c WHERE c.type = 'invoice'").fetchAll();
  return z.array(invoiceSchema).parse(resources);
}

export async function readLedger(stripe: Stripe): Promise<StormLedger> {
  const most = { limit: 10_000 };
  return {
    payments: await stripe.paymentIntents.list({ limit: 100 }).autoPagingToArray(most),
    refunds: await stripe.refunds.list({ limit: 100 }).autoPagingToArray(most),
    disputes: await stripe.disputes.list({ limit: 100 }).autoPagingToArray(most),
  };
}

/** Lists what is not settled yet, in words. */
export function unsettled(stored: readonly Invoice[], now = new Date().toISOString()): string[] {
  return stored.flatMap(({ id, status, actionableAt, reversals }) => {
    if (status === 'claimed' || (status === 'pending' && (actionableAt ?? '') <= now))
      return [`${id} is ${status}`];
    const open = reversals?.refunds.find((one) => one.status === 'requested');
    return open === undefined ? [] : [`${id}: refund ${open.id} is requested`];
  });
}

const totals = z.object({ count: z.number(), amountMinor: z.coerce.number() });
const reportSchema = z.object({
  totals: z.array(
    z.object({ currency: z.string(), paid: totals, refunded: totals, disputed: totals, disputeLost: totals }),
  ),
});

/** All that differs, in words. */
export function disagreements(
  stored: readonly Invoice[],
  ledger: StormLedger,
  figures: { report: unknown; recount: unknown },
): string[] {
  const problems = stored.flatMap((invoice) => ofInvoice(invoice, ledger));
  const recount = z.object({ corrected: z.literal(0) }).safeParse(figures.recount);
  if (!recount.success) problems.push(`a recount says ${JSON.stringify(figures.recount)}`);
  const report = reportSchema.safeParse(figures.report);
  if (report.success) problems.push(...ofReport(stored, report.data));
  else problems.push(`the report is ${JSON.stringify(figures.report)}`);
  problems.push(...leftAlone(stored, ledger));
  return problems;
}

function isOurs({ customer, amount, currency, metadata }: Stripe.PaymentIntent, invoice: Invoice): boolean {
  const isOfOther = metadata.deployment !== undefined && metadata.deployment !== deployment;
  const isSame = amount === invoice.amountMinor && currency.toUpperCase() === invoice.currency;
  return !isOfOther && customer === invoice.customerId && isSame;
}

const isGone = ({ status }: Stripe.Refund) => status !== 'failed' && status !== 'canceled';
const isAtRisk = ({ status }: Stripe.Dispute) =>
  status !== 'won' && status !== 'warning_closed' && status !== 'prevented';
const sum = (parts: readonly { amount: number }[]) => parts.reduce((total, { amount }) => total + amount, 0);

function ofInvoice(invoice: Invoice, { payments, refunds, disputes }: StormLedger): string[] {
  const { id, status, payment, reversals, timeline } = invoice;
  const problems: string[] = [];
  const named = payments.filter(
    ({ metadata, status: state }) => metadata.invoiceId === id && state === 'succeeded',
  );
  const goneOf = (of: string) => sum(refunds.filter((one) => one.payment_intent === of && isGone(one)));
  const lostOf = (of: string) =>
    sum(disputes.filter((one) => one.payment_intent === of && one.status === 'lost'));
  const holds = (one: Stripe.PaymentIntent) => goneOf(one.id) + lostOf(one.id) < one.amount;
  const charged = named.filter(({ metadata }) => metadata.deployment === deployment);
  if (charged.filter(holds).length > 1)
    problems.push(`${id} was charged twice: ${charged.map((one) => one.id).join(' and ')}`);
  const ours = named.filter((one) => isOurs(one, invoice));
  const isNamed = (of: string) => timeline.some(({ paymentId }) => paymentId === of);
  if (status !== 'paid') {
    const held = ours.find(holds);
    const isLeft = status === 'parked' || status === 'processing';
    if (held !== undefined && !(isLeft && isNamed(held.id)))
      problems.push(`${id} is ${status}, and ${held.id} holds money`);
    return problems;
  }
  const own = ours.find((one) => one.id === payment.id);
  if (own === undefined) return [...problems, `${id} is paid by ${payment.id}, which is none of its own`];
  const { refundedMinor = 0, disputedMinor = 0, payments: second = [] } = reversals ?? {};
  if (goneOf(own.id) !== refundedMinor)
    problems.push(`${id}: ${goneOf(own.id)} went back of ${own.id}, and ${refundedMinor} on the invoice`);
  const atRisk = sum(disputes.filter((one) => one.payment_intent === own.id && isAtRisk(one)));
  if (atRisk !== disputedMinor)
    problems.push(`${id}: ${atRisk} is disputed of ${own.id}, and ${disputedMinor} on the invoice`);
  for (const other of named.filter(
    (one) => one.id !== own.id && one.customer === invoice.customerId && isOursOrNobodys(one),
  )) {
    const recorded = second.find((one) => one.id === other.id);
    // One of another amount may have been known before: then a person has decided that it does not count.
    const isDecided = recorded === undefined && !isOurs(other, invoice) && isNamed(other.id);
    const isGoneAgain = recorded === undefined && !holds(other);
    if (recorded?.amountMinor !== other.amount && !isDecided && !isGoneAgain)
      problems.push(
        `${id}: second payment ${other.id} over ${other.amount} is recorded as ${recorded?.amountMinor}`,
      );
    const back = (reversals?.refunds ?? []).filter(
      (one) => one.paymentId === other.id && one.status !== 'failed',
    );
    const backMinor = back.reduce((total, one) => total + one.amountMinor, 0);
    if (recorded !== undefined && backMinor !== goneOf(other.id))
      problems.push(
        `${id}: ${goneOf(other.id)} went back of second payment ${other.id}, and ${backMinor} on the invoice`,
      );
  }
  return problems;
}

function isOursOrNobodys({ metadata }: Stripe.PaymentIntent): boolean {
  return metadata.deployment === undefined || metadata.deployment === deployment;
}

/** The report counts what the invoices say. */
function ofReport(stored: readonly Invoice[], report: z.infer<typeof reportSchema>): string[] {
  const currencies = [...new Set(stored.map(({ currency }) => currency))];
  return currencies.flatMap((currency) => {
    const of = stored.filter((one) => one.currency === currency);
    const paid = of
      .filter(({ status }) => status === 'paid')
      .reduce((total, one) => total + one.amountMinor, 0);
    const extra = of.flatMap(({ reversals }) => reversals?.payments ?? []);
    const expected = paid + extra.reduce((total, one) => total + one.amountMinor, 0);
    const shown = report.totals.find((one) => one.currency === currency)?.paid.amountMinor ?? 0;
    return shown === expected ? [] : [`the report shows ${shown} paid in ${currency}, expected ${expected}`];
  });
}

/** No refund of ours, and no cancellation, of a payment of another customer or deployment. */
function leftAlone(stored: readonly Invoice[], { payments, refunds }: StormLedger): string[] {
  const byId = new Map(stored.map((one) => [one.id, one]));
  return payments.flatMap((payment) => {
    const invoice = byId.get(payment.metadata.invoiceId ?? '');
    if (invoice === undefined || payment.metadata.deployment === deployment) return [];
    const isForeign = payment.metadata.deployment !== undefined || payment.customer !== invoice.customerId;
    if (!isForeign) return [];
    const ofOurs = refunds.some(
      (one) => one.payment_intent === payment.id && one.metadata?.refundId !== undefined,
    );
    if (payment.status === 'canceled' || ofOurs)
      return [`${payment.id} of somebody else was refunded or canceled`];
    return [];
  });
}
