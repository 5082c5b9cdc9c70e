import { tolerantObject } from '@payonce/jobs/documents';
import { z } from 'zod';
import { invoiceStatuses } from './invoiceStatus.ts';
import { reversalsSchema } from './reversals.ts';

/**
 * An invoice as it is stored, and its states:
 *
 *   pending ──claim──► claimed ──settle──► paid | declined | parked | processing
 *      ▲                  │ │                                             │
 *      └──── settle ──────┘ └─ claim stale ─► claimed again       paid | declined | pending
 *                                             (one attempt more if calls had begun), or parked after the last
 *
 *   pending | declined | parked | processing ──a person──► voided ──a person, if no key was ever sent──► pending
 *
 * A run that has the lease of the shard's group changes `pending → claimed` and `claimed → claimed` (claiming/). The
 * consumer whose batch the claim names moves everything out of `claimed` (paying/). `processing` is a payment that is alive
 * at the provider: after/ asks the provider until it ends, and moves it on. A person puts a parked or declined invoice
 * back to `pending`, or voids one that is unpaid (after/). A look-up makes a parked one `paid` or `processing` if it
 * finds the payment (paying/). Refunds and disputes are recorded on the invoice (`reversals`) and change no status.
 *
 * `actionableAt` says when there is something to claim: when a pending invoice is due, or when a claim goes stale. `checkAt`
 * says when to ask the provider about a payment in progress (nextCheck.ts). Otherwise they are absent.
 */

/** The batch that works on an invoice. Its id is the claim's token: only that batch may settle the invoice. */
const claimSchema = tolerantObject({
  batchId: z.string(),
  by: z.string(),
  runId: z.string(),
  fence: z.number(),
  attempt: z.number(),
  at: z.string(),
  /** `calling`: calls may have begun (invoiceChange.ts). */
  phase: z.enum(['claimed', 'calling']),
  /** The start that made it `calling`. Absent until then. */
  startedBy: z.string().exactOptional(),
});
export type Claim = z.infer<typeof claimSchema>;

/** Progress of an invoice's payment. */
export const paymentStateSchema = tolerantObject({
  /** Number of the idempotency key `{deployment}-invoice-{id}-{n}`; rises only after a definite decline. */
  keyNumber: z.number().int().min(1),
  /** First claim of the key of this number (ISO 8601, UTC). Absent until then. */
  keyCreatedAt: z.string().exactOptional(),
  /** Hash of all that the key stands for: the same key must never be sent with other parameters. */
  paramsHash: z.string().exactOptional(),
  /** Soft declines so far: the place in the retry schedule. */
  declines: z.number().int(),
  /** Tries in a row that certainly charged nothing: the exponent of the backoff. */
  deferrals: z.number().int(),
  /** Time from which a charge under this key may have gone through (ISO 8601). Absent once the outcome is known. */
  unknownSince: z.string().exactOptional(),
  /** First time that the provider found no payment under a key too old to be sent (ISO 8601). */
  noneFoundAt: z.string().exactOptional(),
  /**
   * The payment method to charge instead of the imported one: the customer's default, resolved for this key, or one that a
   * person gave with a retry.
   */
  method: tolerantObject({ id: z.string(), from: z.enum(['customer', 'retry']) }).exactOptional(),
  /** The payment that is alive at the provider; only of an invoice that is processing. */
  inProgress: tolerantObject({
    id: z.string(),
    /** The provider's word for its state. */
    state: z.string(),
    /** ISO 8601. */
    since: z.string(),
    /** Number of checks so far. */
    checks: z.number().int(),
  }).exactOptional(),
  /** The provider's id of the payment, once it succeeded. */
  id: z.string().exactOptional(),
  paidAt: z.string().exactOptional(),
});
export type PaymentState = z.infer<typeof paymentStateSchema>;

const timelineEntrySchema = z.object({ at: z.string(), what: z.string(), by: z.string() }).catchall(z.json());
export type StoredEntry = z.infer<typeof timelineEntrySchema>;

/** Content of an import. Times are ISO 8601 in UTC with milliseconds, so they sort as text. */
export const contentSchema = z.object({
  id: z.string(),
  customerId: z.string(),
  amountMinor: z.number(),
  currency: z.string(),
  dueAt: z.string(),
  /** Absent: the customer's default at the provider. */
  paymentMethod: z.string().exactOptional(),
  description: z.string().exactOptional(),
});
export type InvoiceContent = z.infer<typeof contentSchema>;

export const invoiceSchema = contentSchema.extend({
  shard: z.string(),
  type: z.literal('invoice'),
  /** Absent: 1. See documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  status: z.enum(invoiceStatuses),
  actionableAt: z.string().exactOptional(),
  checkAt: z.string().exactOptional(),
  createdAt: z.string(),
  /** Claims so far that may have charged. */
  attempts: z.number().int(),
  claim: claimSchema.exactOptional(),
  payment: paymentStateSchema,
  /** Reason for which a person has to look at it (`parked`), or for which it ended (`declined`, `voided`). */
  reason: z.string().exactOptional(),
  /** Time of the final decline (ISO 8601). */
  declinedAt: z.string().exactOptional(),
  /** Money that has gone back to the customer, or may. */
  reversals: reversalsSchema.exactOptional(),
  /** The due date as it was imported, if a person has moved it since. */
  importedDueAt: z.string().exactOptional(),
  /** Its customer has been erased: when (ISO 8601), and the hash of what was imported (tombstone.ts). */
  erased: tolerantObject({ at: z.string(), content: z.string() }).exactOptional(),
  /** Texts by which a search finds it (searchTerms.ts). Absent: it was imported before there were any. */
  terms: z.array(z.string()).exactOptional(),
  /** Time of its move to the archive (ISO 8601); only of one that was read there. */
  archivedAt: z.string().exactOptional(),
  timeline: z.array(timelineEntrySchema),
  _etag: z.string(),
});
export type Invoice = z.infer<typeof invoiceSchema>;

/** The part of a stored invoice that an import compares; a newer release keeps these fields as they are. */
export const importedSchema = contentSchema
  .extend(invoiceSchema.pick({ type: true, createdAt: true, importedDueAt: true, erased: true }).shape)
  .transform(({ importedDueAt, ...invoice }) => ({ ...invoice, dueAt: importedDueAt ?? invoice.dueAt }));
export type Imported = z.infer<typeof importedSchema>;

export type NewInvoice = Omit<Invoice, '_etag'>;

const typeSchema = invoiceSchema.pick({ type: true });

/** True for a stored document that is an invoice: outbox messages and fences are stored beside them. */
export function isInvoice(document: unknown): boolean {
  return typeSchema.safeParse(document).success;
}

/** Claims of one invoice that may have charged and ended without a known outcome. After the fifth it is parked. */
export const maxAttempts = 5;
