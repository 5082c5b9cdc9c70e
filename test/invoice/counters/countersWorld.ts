import { expect } from 'vitest';
import type { CounterReads } from '../../../src/invoice/counters/invoiceCounters.ts';
import { invoiceSchema } from '../../../src/invoice/invoice.ts';
import { shardNames } from '../../../src/invoice/shard.ts';
import type { DayCount, InvoiceStore } from '../../../src/invoice/store/invoiceStore.ts';
import { addUp } from '../../../src/ops/report.ts';

/** Compares what is kept with what is counted, invoice by invoice, at `now` (ISO 8601). Each shard is counted anew. */
export async function expectExact(
  invoices: InvoiceStore,
  reads: CounterReads,
  { shards, now }: { shards: number; now: string },
): Promise<void> {
  const names = shardNames(shards);
  for (const name of names)
    expect(await invoices.recount(name)).toMatchObject({ kind: 'recounted', corrections: [] });
  const { byStatus, staleClaims } = await invoices.counts(now);
  expect(staleClaims).toBe(await reads.staleClaims(now));
  const due = new Date(Date.parse(now) + 1).toISOString();
  expect(await invoices.backlog(now)).toMatchObject({
    waiting: (await reads.pending({ shards: names, before: due })) + staleClaims,
    claimed: (byStatus.get('claimed') ?? 0) - staleClaims,
  });
  const counted: DayCount[] = [];
  for (const name of names)
    for await (const page of reads.all(name)) counted.push(...page.flatMap(figuresOf));
  const { counts: kept } = await invoices.dayCounts({ from: '2000-01-01', to: '2100-01-01' });
  expect(addUp(kept)).toEqual(addUp(counted));
}

/** Figures of the days of one invoice, added up without the code that keeps them. */
function figuresOf(document: unknown): DayCount[] {
  const { currency, amountMinor, status, declinedAt, payment, reversals } = invoiceSchema
    .pick({
      currency: true,
      amountMinor: true,
      status: true,
      declinedAt: true,
      payment: true,
      reversals: true,
    })
    .parse(document);
  const figure = (kind: DayCount['kind'], at: string, minor = amountMinor): DayCount => {
    return { kind, day: at.slice(0, 10), currency, count: 1, amountMinor: minor };
  };
  const figures: DayCount[] = [];
  if (payment.paidAt !== undefined) figures.push(figure('paid', payment.paidAt));
  if (status === 'declined' && declinedAt !== undefined) figures.push(figure('declined', declinedAt));
  for (const refund of reversals?.refunds ?? []) {
    if (refund.status === 'failed' || refund.status === 'canceled') continue;
    figures.push(figure('refunded', refund.at, refund.amountMinor));
  }
  for (const dispute of reversals?.disputes ?? []) {
    if (dispute.status !== 'won') figures.push(figure('disputed', dispute.at, dispute.amountMinor));
    if (dispute.status === 'lost') figures.push(figure('disputeLost', dispute.at, dispute.amountMinor));
  }
  return figures;
}
