import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { count, type Figures } from './figures.ts';

/** As much of a stored document as is counted. */
const documentSchema = z.object({
  id: z.string(),
  type: z.string().optional(),
  status: z.string().optional(),
  currency: z.string().optional(),
  amountMinor: z.number().optional(),
  declinedAt: z.string().optional(),
  payment: z.object({ id: z.string().optional(), paidAt: z.string().optional() }).optional(),
  reversals: z
    .object({
      refunds: z.array(
        z.object({
          providerId: z.string().optional(),
          amountMinor: z.number(),
          status: z.string(),
          at: z.string(),
        }),
      ),
      disputes: z.array(
        z.object({ id: z.string(), amountMinor: z.number(), status: z.string(), at: z.string() }),
      ),
    })
    .optional(),
});

/** Counts of the documents themselves, taken without any query. */
export interface Recount {
  invoices: number;
  /** By day, currency and kind, within the time asked for. */
  figures: Figures;
  /** Payments, refunds and disputes by the provider's ids; whether they are in that time. */
  recorded: Map<string, { counts: boolean }>;
}

/**
 * Counts the container from its feed of all documents: one by one, in the order in which the service keeps them, so that
 * neither an index nor a condition nor an aggregate of the report's queries takes part. `from` and `to` in milliseconds.
 */
export async function countDocuments(
  container: Container,
  { from, to }: { from: number; to: number },
): Promise<Recount> {
  const found: Recount = { invoices: 0, figures: new Map(), recorded: new Map() };
  for await (const { resources } of container.items.readAll({ maxItemCount: 1000 }).getAsyncIterator()) {
    for (const resource of resources) {
      const document = documentSchema.parse(resource);
      if (document.type === 'invoice') countInvoice(document);
    }
  }
  return found;

  function countInvoice(invoice: z.infer<typeof documentSchema>): void {
    const { amountMinor, payment, reversals } = invoice;
    if (invoice.currency === undefined || amountMinor === undefined) {
      throw new Error(`invoice ${invoice.id} has no amount`);
    }
    found.invoices++;
    const its = { currency: invoice.currency };
    if (payment?.paidAt !== undefined)
      add('paid', { ...its, at: payment.paidAt, amountMinor, id: payment.id });
    if (invoice.status === 'declined' && invoice.declinedAt !== undefined)
      add('declined', { ...its, at: invoice.declinedAt, amountMinor });
    for (const { providerId, ...refund } of reversals?.refunds ?? []) {
      if (!['failed', 'canceled'].includes(refund.status))
        add('refunded', { ...its, ...refund, id: providerId });
    }
    for (const dispute of reversals?.disputes ?? []) {
      if (dispute.status === 'won') continue;
      add('disputed', { ...its, ...dispute });
      if (dispute.status === 'lost') add('disputeLost', { ...its, ...dispute });
    }
  }

  function add(
    kind: string,
    one: { currency: string; at: string; amountMinor: number; id?: string | undefined },
  ): void {
    const at = Date.parse(one.at);
    const counts = at >= from && at < to;
    if (one.id !== undefined) found.recorded.set(one.id, { counts });
    if (counts) {
      const day = new Date(at).toISOString().slice(0, 10);
      count(found.figures, `${day} ${one.currency} ${kind}`, one.amountMinor);
    }
  }
}
