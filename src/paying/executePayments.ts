import { z } from 'zod';
import { isAccessDenied } from '../documents/cosmosErrors.ts';
import { errorText } from '../platform/errorText.ts';
import type { DeadLetterReason, LockRenewal } from '../platform/heldMessage.ts';
import { metric } from '../platform/telemetry.ts';
import { keepMessageLock } from './messageLock.ts';
import { BatchRefused, parseBatch } from './parseBatch.ts';
import { type BatchResult, type ExecutePaymentsDependencies, executeBatch } from './payBatch.ts';
import { NoClearAnswer } from './startBatch.ts';

/** What the trigger tells of a delivery. */
const deliverySchema = z.object({ lockToken: z.string().optional(), deliveryCount: z.number().default(1) });

/** Deliveries after which a batch is left to its claims; the queue gives a message up after ten. */
const enoughDeliveries = 5;

/** What became of a message; whatever the kind, the message is done with. */
export type Consumed =
  | BatchResult
  /** It is no batch: it is in the dead-letter queue now, with this as the reason. */
  | { refused: string }
  /** The store is away for so long that the message is given up. */
  | { left: string };

/**
 * One message of the queue of payment commands. What is no batch goes to the dead-letter queue at once. A batch that the
 * store does not take, delivery after delivery, is left: a store that is away for long would send every batch to the
 * dead-letter queue, and nothing is lost without the message, since the claims go stale and a run orders the payments anew.
 * While a batch is worked on the message's lock is kept; once it is lost, or `signal` aborts, no further call begins.
 *
 * @throws whatever shall bring the message again
 */
export async function consumeBatch(
  dependencies: ExecutePaymentsDependencies & {
    deadLetter: (lockToken: string, why: DeadLetterReason) => Promise<void>;
    renewLock: (lockToken: string) => Promise<LockRenewal>;
  },
  { message, delivery = {}, signal }: { message: unknown; delivery?: unknown; signal?: AbortSignal },
): Promise<Consumed> {
  const { telemetry, deadLetter, renewLock } = dependencies;
  const { lockToken, deliveryCount } = deliverySchema.parse(delivery);
  using lock =
    lockToken === undefined ? undefined : keepMessageLock(() => renewLock(lockToken), dependencies);
  const mayCall = () => signal?.aborted !== true && lock?.held() !== false;
  try {
    return await executeBatch(dependencies, parseBatch(message), mayCall);
  } catch (error) {
    const away = error instanceof NoClearAnswer || isAccessDenied(error);
    if (away && deliveryCount >= enoughDeliveries) {
      telemetry.count(metric.batchLeft);
      return { left: errorText(error) };
    }
    if (!(error instanceof BatchRefused)) throw error;
    telemetry.count(metric.batchRejected);
    // Without the token it goes round until the queue gives it up.
    if (lockToken === undefined) throw error;
    await deadLetter(lockToken, { reason: error.name, description: error.message });
    return { refused: error.message };
  }
}
