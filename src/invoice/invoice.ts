/**
 * An invoice as it is stored, and its states:
 *
 *   pending ──claim──► claimed ──settle──► paid | declined | parked
 *      ▲                  │ │
 *      └──── settle ──────┘ └─ claim stale ─► claimed again (one attempt more if calls had begun), or parked
 *                                               after the last attempt
 *
 * A run that holds the lease of the shard's group moves `pending → claimed` and `claimed → claimed` (claiming/). The
 * consumer whose batch the claim names moves everything out of `claimed` (paying/). A person puts a parked or declined
 * invoice back to `pending` (retryInvoice.ts), and a reconciliation makes a parked one `paid` if it finds the payment
 * (paying/). `actionableAt` says when there is something to do next: when a pending invoice is due, or when a claim goes
 * stale. Otherwise it is absent.
 */
import { z } from 'zod';
import { formatVersion, tolerantObject } from '../documents/storedDocuments.ts';

export const invoiceStatuses = ['pending', 'claimed', 'paid', 'declined', 'parked'] as const;
export type InvoiceStatus = (typeof invoiceStatuses)[number];

/** Who works on an invoice. The batch id is the claim's token: only that batch may settle the invoice. */
const claimSchema = tolerantObject({
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
export const paymentStateSchema = tolerantObject({
  /** Number of the idempotency key `invoice-{id}-{n}`; rises only after a definite decline. */
  keyNumber: z.number().int().min(1),
  /** When the key of this number was first claimed: ISO 8601, UTC. Absent until then. */
  keyCreatedAt: z.string().exactOptional(),
  /** Hash of all that the key stands for: the same key must never be sent with other parameters. */
  paramsHash: z.string().exactOptional(),
  /** Soft declines so far: the place in the retry schedule. */
  declines: z.number().int(),
  /** Tries in a row that certainly charged nothing: the exponent of the backoff. */
  deferrals: z.number().int(),
  /** Since when (ISO 8601) a charge under this key may have gone through. Absent once the outcome is known. */
  unknownSince: z.string().exactOptional(),
  /** The provider's id of the payment, once it succeeded. */
  id: z.string().exactOptional(),
  paidAt: z.string().exactOptional(),
});
export type PaymentState = z.infer<typeof paymentStateSchema>;

export const firstPaymentState: PaymentState = { keyNumber: 1, declines: 0, deferrals: 0 };

/** The state of a payment that may have gone through, unknown since `at` unless it has been so for longer. */
export function unknownSince<State extends PaymentState>(payment: State, at: string): State {
  return { ...payment, unknownSince: payment.unknownSince ?? at };
}

/** The state of a payment whose outcome under its key is known. */
export function known(payment: PaymentState): PaymentState {
  const { unknownSince: _, ...state } = payment;
  return state;
}

/** The state in which the next charge is a new one, under the next key. Fields of a newer release are kept. */
export function nextKey(payment: PaymentState, { declines }: { declines: number }): PaymentState {
  return { ...unusedKey(payment), keyNumber: payment.keyNumber + 1, declines, deferrals: 0 };
}

/** The state with the key as good as new, for a key that certainly charged nothing. */
export function unusedKey(payment: PaymentState): PaymentState {
  const { keyCreatedAt: _, paramsHash: __, ...state } = known(payment);
  return state;
}

const timelineEntrySchema = z.object({ at: z.string(), what: z.string(), by: z.string() }).catchall(z.json());
export type TimelineEntry = z.infer<typeof timelineEntrySchema>;

/** What an importer gives; it never changes. Times are ISO 8601 in UTC with milliseconds, so they sort as text. */
export const contentSchema = z.object({
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
  /** Absent in invoices of the first release; see documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  status: z.enum(invoiceStatuses),
  actionableAt: z.string().exactOptional(),
  createdAt: z.string(),
  /** Claims so far that may have charged. */
  attempts: z.number().int(),
  claim: claimSchema.exactOptional(),
  payment: paymentStateSchema,
  /** Why a person has to look at it (`parked`), or why it ended (`declined`). */
  reason: z.string().exactOptional(),
  timeline: z.array(timelineEntrySchema),
  _etag: z.string(),
});
export type Invoice = z.infer<typeof invoiceSchema>;

/** The part of a stored invoice that an import compares; a newer release keeps these fields as they are. */
export const importedSchema = contentSchema.extend({ type: z.literal('invoice'), createdAt: z.string() });
export type Imported = z.infer<typeof importedSchema>;

export type NewInvoice = Omit<Invoice, '_etag'>;

/** Whether a stored document is an invoice: outbox messages and fences are stored beside them. */
export function isInvoice(document: unknown): boolean {
  return invoiceSchema.pick({ type: true }).safeParse(document).success;
}

/** A new invoice, ready to be stored. */
export function newInvoice(
  content: InvoiceContent,
  { shard, at, by }: { shard: string; at: string; by: string },
): NewInvoice {
  return {
    ...content,
    shard,
    type: 'invoice',
    version: formatVersion,
    status: 'pending',
    actionableAt: content.dueAt,
    createdAt: at,
    attempts: 0,
    payment: firstPaymentState,
    timeline: [{ at, what: 'imported', by }],
  };
}
