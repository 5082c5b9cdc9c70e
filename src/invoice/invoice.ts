/**
 * An invoice as Cosmos keeps it, and its states:
 *
 *   pending ──claim──► claimed ──settle──► paid | declined | parked
 *      ▲                  │ │
 *      └──── settle ──────┘ └─ claim stale ─► claimed again (attempt + 1 where calls had begun), or parked
 *                                               after the last attempt
 *
 * `pending → claimed` and `claimed → claimed` are moved by a job run that holds the lease of the shard's group (claimBatch),
 * everything out of `claimed` by the consumer whose batch the claim names (paying/). A person puts a parked or declined
 * one back to `pending` (retryInvoice), and a reconciliation makes a parked one `paid` when it finds the payment.
 * `actionableAt` says when there is next something to do: pending, when it is due; claimed, when the claim is stale; else
 * it is absent.
 */
import { z } from 'zod';

export const invoiceStatuses = ['pending', 'claimed', 'paid', 'declined', 'parked'] as const;
export type InvoiceStatus = (typeof invoiceStatuses)[number];

/** Who works on an invoice. The batch id is the claim's token: only the batch that it names may settle the invoice. */
const claimSchema = z.object({
  batchId: z.string(),
  by: z.string(),
  runId: z.string(),
  fence: z.number(),
  attempt: z.number(),
  at: z.string(),
  phase: z.enum(['claimed', 'calling']),
});
export type Claim = z.infer<typeof claimSchema>;

/** How far the payment of an invoice has come. */
export const paymentStateSchema = z.object({
  /** Number of the idempotency key `invoice-{id}-{n}`; rises only after a definite decline. */
  keyNumber: z.number().int().min(1),
  /** When the key of this number was first claimed: ISO 8601, UTC. Absent until then. */
  keyCreatedAt: z.string().exactOptional(),
  /** Hash of all that the key stands for: the same key must never be sent with other parameters. */
  paramsHash: z.string().exactOptional(),
  /** Soft declines so far: the place in the retry schedule. */
  declines: z.number().int(),
  /** Tries in a row that surely charged nothing: the exponent of the backoff. */
  deferrals: z.number().int(),
  /** Since when a charge under this key may have gone through unknown to us: ISO 8601. Absent once its fate is known. */
  unknownSince: z.string().exactOptional(),
  /** The provider's id of the payment, once it succeeded. */
  id: z.string().exactOptional(),
  paidAt: z.string().exactOptional(),
});
export type PaymentState = z.infer<typeof paymentStateSchema>;

export const firstPaymentState: PaymentState = { keyNumber: 1, declines: 0, deferrals: 0 };

/** The state of a payment that may have gone through; one that was unknown before stays so since then. */
export function unknownSince<State extends PaymentState>(payment: State, at: string): State {
  return { ...payment, unknownSince: payment.unknownSince ?? at };
}

/** The state of a payment whose fate under its key is known. */
export function known(payment: PaymentState): PaymentState {
  const state = { ...payment };
  delete state.unknownSince;
  return state;
}

const timelineEntrySchema = z.object({ at: z.string(), what: z.string(), by: z.string() }).catchall(z.json());
export type TimelineEntry = z.infer<typeof timelineEntrySchema>;

/** What an importer gives; it never changes afterwards. Times are ISO 8601 in UTC with milliseconds, so they sort as text. */
const contentSchema = z.object({
  id: z.string(),
  customerId: z.string(),
  amountMinor: z.number(),
  currency: z.string(),
  dueAt: z.string(),
  paymentMethod: z.string(),
  description: z.string().exactOptional(),
});
export type InvoiceContent = z.infer<typeof contentSchema>;

export const invoiceSchema = contentSchema.extend({
  shard: z.string(),
  type: z.literal('invoice'),
  status: z.enum(invoiceStatuses),
  actionableAt: z.string().exactOptional(),
  createdAt: z.string(),
  /** Claims so far whose outcome is not known to be "nothing happened". */
  attempts: z.number().int(),
  claim: claimSchema.exactOptional(),
  payment: paymentStateSchema,
  /** Why a person has to look at it (status `parked`), or why it ended (`declined`). */
  reason: z.string().exactOptional(),
  timeline: z.array(timelineEntrySchema),
  _etag: z.string(),
});
export type Invoice = z.infer<typeof invoiceSchema>;
export type NewInvoice = Omit<Invoice, '_etag'>;

/** A new invoice, ready to be stored. */
export function newInvoice(
  content: InvoiceContent,
  { shard, at, by }: { shard: string; at: string; by: string },
): NewInvoice {
  return {
    ...content,
    shard,
    type: 'invoice',
    status: 'pending',
    actionableAt: content.dueAt,
    createdAt: at,
    attempts: 0,
    payment: firstPaymentState,
    timeline: [{ at, what: 'imported', by }],
  };
}
