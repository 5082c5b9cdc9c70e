import { formatVersion, isNewer, NewerVersion } from '@payonce/jobs/documents';
import { z } from 'zod';
import { type Invoice, paymentStateSchema } from '../invoice/invoice.ts';
import { paramsHash } from './idempotencyKey.ts';

/**
 * The order to pay one invoice, as the outbox carries it to the consumer. It holds all that the charge needs, so the
 * consumer reads nothing: the transaction that starts the batch checks that the invoice is still this batch's.
 */
const paymentCommandSchema = z.object({
  invoiceId: z.string().min(1),
  customerId: z.string(),
  amountMinor: z.int().positive(),
  currency: z.string().length(3),
  /** Absent: the customer's default at the provider, which is resolved before the charge (resolveMethod.ts). */
  paymentMethod: z.string().min(1).exactOptional(),
  description: z.string().exactOptional(),
  /** Which claim of the invoice this is, from 1. */
  attempt: z.int().min(1),
  /** Without a hash until the payment method is resolved. */
  payment: paymentStateSchema.required({ keyCreatedAt: true }),
});
export type PaymentCommand = z.infer<typeof paymentCommandSchema>;

/** Invoices in a batch: their transaction also changes the counters, of up to as many currencies (invoice/counters). */
export const mostBatch = 75;

/** One message: all commands of one batch, claimed in one transaction. */
export const paymentBatchSchema = z.object({
  /** Absent: 1. See documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  batchId: z
    .string()
    .regex(/^:?[\w-]{1,64}$/, 'expected 1 to 64 letters, digits, - or _, perhaps after a colon'),
  shard: z.string().regex(/^[0-9a-f]{2}$/, 'two hex digits'),
  runId: z.string(),
  commands: z.array(paymentCommandSchema).min(1).max(mostBatch),
});
export type PaymentBatch = z.infer<typeof paymentBatchSchema>;

/** A message that is not a payment batch. No retry can help it: it belongs in the dead-letter queue, with this reason. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
}

export function newPaymentBatch(batch: Omit<PaymentBatch, 'version'>): PaymentBatch {
  return { version: formatVersion, ...batch };
}

/**
 * Reads a message of the queue of payment commands. Unknown fields do no harm.
 *
 * @throws {BatchRefused} naming each field and what was expected
 * @throws {NewerVersion} a newer release sent it, and a process of that release has to handle it
 */
export function parseBatch(message: unknown): PaymentBatch {
  if (isNewer(message)) throw new NewerVersion('a payment batch');
  const parsed = paymentBatchSchema.safeParse(message);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message: expected }) => `${path.join('.') || 'message'}: ${expected}`);
  throw new BatchRefused(`not a payment batch: ${problems.join('; ')}`);
}

/** The command that claims an invoice at time `at` (ISO 8601). A key in use already keeps its age and hash. */
export function commandFor(
  { id: invoiceId, customerId, amountMinor, currency, paymentMethod, description, payment }: Invoice,
  { attempt, at }: { attempt: number; at: string },
): PaymentCommand {
  const command: PaymentCommand = {
    invoiceId,
    customerId,
    amountMinor,
    currency,
    ...(paymentMethod === undefined ? {} : { paymentMethod }),
    ...(description === undefined ? {} : { description }),
    attempt,
    payment: { ...payment, keyCreatedAt: payment.keyCreatedAt ?? at },
  };
  const method = methodOf(command);
  if (method === undefined || payment.paramsHash !== undefined) return command;
  return withMethod(command, method);
}

/**
 * The batch, with no key younger than its message. The process that claims dates a key, and its clock may be ahead; the
 * message is sent after that, and Service Bus dates it. `sentAt`: milliseconds since the epoch; undefined: not known. Pure.
 */
export function datedByMessage(batch: PaymentBatch, sentAt: number | undefined): PaymentBatch {
  if (sentAt === undefined) return batch;
  const commands = batch.commands.map((command) => {
    const { payment } = command;
    if (Date.parse(payment.keyCreatedAt) <= sentAt) return command;
    return { ...command, payment: { ...payment, keyCreatedAt: new Date(sentAt).toISOString() } };
  });
  return { ...batch, commands };
}

/** The payment method that a command charges; undefined until the customer's default is resolved. */
export function methodOf({ paymentMethod, payment }: Pick<PaymentCommand, 'paymentMethod' | 'payment'>) {
  return payment.method?.id ?? paymentMethod;
}

/** The command with the hash of all that its key stands for, once its payment method is known. */
export function withMethod(command: PaymentCommand, paymentMethod: string): PaymentCommand {
  const hash = paramsHash({ ...command, paymentMethod });
  return { ...command, payment: { ...command.payment, paramsHash: hash } };
}
