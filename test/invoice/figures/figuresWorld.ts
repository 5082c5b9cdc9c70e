import { expect } from 'vitest';
import type { FigureReads } from '../../../src/invoice/figures/figureReads.ts';
import { shardNames } from '../../../src/invoice/shard.ts';
import type { InvoiceStore } from '../../../src/invoice/store/invoiceStore.ts';
import { addUp, type Report } from '../../../src/reporting/report.ts';

/** Compares what is kept with what is counted, invoice by invoice, at `now` (ISO 8601). Each shard is counted anew. */
export async function expectExact(
  invoices: InvoiceStore,
  reads: FigureReads,
  { shards, now }: { shards: number; now: string },
): Promise<void> {
  const names = shardNames(shards);
  for (const name of names)
    expect(await invoices.recount(name)).toMatchObject({ kind: 'recounted', corrections: [] });
  const { byStatus, staleClaims } = await invoices.figures(now);
  expect(staleClaims).toBe(await reads.staleClaims(now));
  const due = new Date(Date.parse(now) + 1).toISOString();
  expect(await invoices.backlog(now)).toMatchObject({
    waiting: (await reads.pending({ shards: names, before: due })) + staleClaims,
    claimed: (byStatus.get('claimed') ?? 0) - staleClaims,
  });
  expect(await keptReport(invoices)).toEqual(
    await addUp(invoices.movements({ from: '2000-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' })),
  );
}

/** The report of all time, as the figures have it. */
async function keptReport(invoices: InvoiceStore): Promise<Report> {
  const figures = (await invoices.dayFigures({ from: '2000-01-01', to: '2100-01-01' })) ?? [];
  async function* pages() {
    yield figures.map(({ day, ...figure }) => ({ ...figure, at: day }));
  }
  return addUp(pages());
}
