import { z } from 'zod';
import { foundKinds } from '../../invoice/foundKinds.ts';
import { invoiceStatuses } from '../../invoice/invoiceStatus.ts';
import { pageOf, time } from './common.ts';

const claim = z.looseObject({
  batchId: z.string(),
  by: z.string(),
  runId: z.string(),
  fence: z.number(),
  attempt: z.number(),
  at: time,
  phase: z.enum(['claimed', 'calling']),
});

const payment = z.looseObject({
  keyNumber: z.int().describe('Number of the idempotency key; it rises only after a definite decline'),
  unknownSince: time.exactOptional(),
  method: z.looseObject({ id: z.string(), from: z.string() }).exactOptional(),
  inProgress: z
    .looseObject({ id: z.string(), state: z.string(), since: time, checks: z.int() })
    .exactOptional(),
  id: z.string().describe('The payment at the provider, once it succeeded').exactOptional(),
  paidAt: time.exactOptional(),
});

/** Fields of refunds and disputes. */
const reversal = {
  id: z.string(),
  amountMinor: z.int(),
  status: z.string(),
  at: time,
  paymentId: z.string().describe('Absent: the payment of the invoice').exactOptional(),
  currency: z.string().describe('Absent: that of the invoice').exactOptional(),
};

const refund = z.looseObject({
  ...reversal,
  by: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  failure: z.string().exactOptional(),
  requestKey: z.string().describe('The Idempotency-Key of its request').exactOptional(),
  orderedAgainAt: time.exactOptional(),
  mayBe: z
    .string()
    .describe('The refund at the provider that may be this one: a person decides')
    .exactOptional(),
});

const dispute = z.looseObject({
  ...reversal,
  reason: z.string(),
  evidenceDueAt: time.describe('Until then evidence may be given; absent if none is taken').exactOptional(),
});

const reversals = z.looseObject({
  refunds: z.array(refund),
  disputes: z.array(dispute),
  payments: z
    .array(
      z.looseObject({ id: z.string(), amountMinor: z.int(), at: time, currency: z.string().exactOptional() }),
    )
    .describe('Payments too many')
    .exactOptional(),
  refundedMinor: z.int(),
  disputedMinor: z.int(),
});

const waiting = z.object({ why: z.string(), until: time.nullable() });
export type Waiting = z.infer<typeof waiting>;

export const invoiceAnswer = z.object({
  id: z.string(),
  customerId: z.string(),
  amountMinor: z.int().describe('Minor units of the currency'),
  currency: z.string(),
  dueAt: time,
  paymentMethod: z.string().nullable(),
  description: z.string().nullable(),
  status: z.enum(invoiceStatuses),
  shard: z.string(),
  actionableAt: time.nullable(),
  claim: claim.nullable(),
  payment,
  attempts: z.int(),
  reason: z.string().nullable(),
  declinedAt: time.nullable(),
  waiting: waiting.nullable().describe('Why nothing happens to it at the moment, and until when'),
  reversals: reversals.nullable(),
  checkAt: time.nullable(),
  importedDueAt: time.nullable(),
  archivedAt: time.nullable().describe('When it moved to the archive; null if it has not'),
  createdAt: time,
});
export type InvoiceAnswer = z.infer<typeof invoiceAnswer>;

const timelineEntry = z.looseObject({ at: time, what: z.string(), by: z.string() });
export type TimelineEntry = z.infer<typeof timelineEntry>;

const permitted = z.union([
  z.object({ allowed: z.literal(true) }),
  z.object({ allowed: z.literal(false), why: z.string() }),
]);
export type Permitted = z.infer<typeof permitted>;

export const invoiceDetailAnswer = invoiceAnswer.extend({
  actions: z
    .object({
      retry: permitted,
      void: permitted,
      undoVoid: permitted,
      refund: permitted,
      moveDueDate: permitted,
    })
    .describe('What may be done with it now, and why not'),
  timeline: z.array(timelineEntry),
});
export type InvoiceDetailAnswer = z.infer<typeof invoiceDetailAnswer>;

export const invoicesAnswer = pageOf('invoices', invoiceAnswer);

const charge = z.number().describe('Of the database, for this answer');

export const totalsAnswer = z.object({
  count: z.int(),
  isExact: z.boolean().describe('False: more match than are read, and the sums are of those'),
  sums: z.array(z.object({ currency: z.string(), count: z.int(), amountMinor: z.number() })),
  requestUnits: charge,
});
export type TotalsAnswer = z.infer<typeof totalsAnswer>;

export const searchAnswer = z.object({
  groups: z
    .array(
      z.object({
        kind: z.enum(foundKinds).describe('Where the text was found'),
        invoices: z.array(invoiceAnswer),
        hasMore: z.boolean(),
      }),
    )
    .describe('The first six of each kind'),
  customers: z.array(z.string()),
  hasMoreCustomers: z.boolean(),
  requestUnits: charge,
});
export type SearchAnswer = z.infer<typeof searchAnswer>;

export const refundAnswer = z.object({
  refundId: z.string(),
  status: z.string(),
  amountMinor: z.int().describe('What it pays back'),
});
