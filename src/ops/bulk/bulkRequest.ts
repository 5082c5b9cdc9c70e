import { z } from 'zod';
import type { Invoice } from '../../invoice/invoice.ts';
import type { InvoiceStatus } from '../../invoice/invoiceStatus.ts';
import { stepsOf } from '../../invoice/timeline.ts';
import { queues, serviceBusQueues } from '../../platform/azureNames.ts';
import { invoiceFields, oneOf, partOf, periodFields, reasonSchema } from '../fields.ts';

/** Both kinds of things can be narrowed by why they are as they are, and by the time since then. */
const common = { reason: partOf('a reason'), ...periodFields };

const retryable = ['parked', 'declined', 'pending'] as const satisfies readonly InvoiceStatus[];
const voidable = [...retryable, 'processing'] as const;

const ofInvoices = { ...common, ...invoiceFields };

const messageFilterSchema = z.strictObject({
  ...common,
  from: oneOf(['outbox', 'dead-letters']),
  queue: oneOf([serviceBusQueues.paymentCommands, queues.workItems]).exactOptional(),
});
export type MessageFilter = z.infer<typeof messageFilterSchema>;

const shared = {
  reason: reasonSchema,
  dryRun: z.boolean().default(false),
  /** The most that it changes. */
  cap: z.int().min(1).max(1_000_000).exactOptional(),
};

/** The body of `POST ops/bulk`. */
export const bulkBody = z.discriminatedUnion(
  'action',
  [
    z.strictObject({
      action: z.literal('retry'),
      filter: z.strictObject({ status: oneOf(retryable), ...ofInvoices }),
      ...shared,
    }),
    z.strictObject({
      action: z.literal('void'),
      filter: z.strictObject({ status: oneOf(voidable), ...ofInvoices }),
      ...shared,
    }),
    z.strictObject({ action: z.literal('redrive'), filter: messageFilterSchema, ...shared }),
    z.strictObject({ action: z.literal('discard'), filter: messageFilterSchema, ...shared }),
  ],
  { error: 'expected an action: one of retry, void, redrive, discard' },
);

const stored = {
  reason: z.string(),
  actor: z.string(),
  actorId: z.string().exactOptional(),
  cap: z.int().exactOptional(),
};
const invoiceFilterSchema = z.object({ status: oneOf(voidable), ...ofInvoices });
export type BulkInvoiceFilter = z.infer<typeof invoiceFilterSchema>;

/** The request of a bulk run, as its record keeps it. */
export const bulkRequestSchema = z.discriminatedUnion('action', [
  z.object({ action: z.enum(['retry', 'void']), filter: invoiceFilterSchema, ...stored }),
  z.object({ action: z.enum(['redrive', 'discard']), filter: messageFilterSchema, ...stored }),
]);
export type BulkRequest = z.infer<typeof bulkRequestSchema>;

/** Reason for the state of an invoice: that of its status, or else of its last entry that has one. Pure. */
function whyInvoice({ reason, timeline }: Pick<Invoice, 'reason' | 'timeline'>): string {
  const before = timeline.flatMap((entry) => (typeof entry.reason === 'string' ? entry.reason : []));
  return reason ?? before.at(-1) ?? '';
}

export function isAskedFor(invoice: Invoice, filter: BulkInvoiceFilter): boolean {
  const { status, customer, currency, dueAfter, dueBefore, reason, before, after } = filter;
  const since = stepsOf(invoice.timeline).at(-1)?.at ?? invoice.createdAt;
  return (
    invoice.status === status &&
    (customer === undefined || invoice.customerId === customer) &&
    (currency === undefined || invoice.currency === currency) &&
    (dueAfter === undefined || invoice.dueAt >= dueAfter) &&
    (dueBefore === undefined || invoice.dueAt < dueBefore) &&
    (reason === undefined || whyInvoice(invoice).toLowerCase().includes(reason.toLowerCase())) &&
    (before === undefined || since < before) &&
    (after === undefined || since >= after)
  );
}

/** The target in the audit trail under which the refusals of a bulk run are found. */
export function refusedBy(runId: string): string {
  return `bulk/${runId}/refused`;
}

const refusedSchema = z.array(z.object({ id: z.string(), why: z.string() }));
export type NotChanged = z.infer<typeof refusedSchema>[number];

/** The refusals of one piece as the detail of an audit record. Pure. */
export function refusedDetail(refused: readonly NotChanged[]): { refused: string } {
  return { refused: JSON.stringify(refused) };
}

export function refusedIn({ refused }: Readonly<Record<string, unknown>>): NotChanged[] {
  return typeof refused === 'string' ? refusedSchema.parse(JSON.parse(refused)) : [];
}
