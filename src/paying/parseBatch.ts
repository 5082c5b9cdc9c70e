import { type PaymentBatch, paymentBatchSchema } from './paymentBatch.ts';

/** A message that is not a payment batch. No try can help it: it belongs in the dead-letter queue, with this reason. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
}

/** Reads a message of the queue of payment commands. @throws {BatchRefused} naming each field and what was expected */
export function parseBatch(message: unknown): PaymentBatch {
  const parsed = paymentBatchSchema.safeParse(message);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message: expected }) => `${path.join('.') || 'message'}: ${expected}`);
  throw new BatchRefused(`not a payment batch: ${problems.join('; ')}`);
}
