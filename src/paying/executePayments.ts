import { NewerVersion, NoClearAnswer, resendAfterMs, StoreAway } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import { inSpan, traceparentIn } from '@payonce/jobs/tracing';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { metric } from '../platform/appMetrics.ts';
import { type HeldMessages, keepMessageLock } from './messageLock.ts';
import { type BatchResult, createPayBatch, type PayingParts } from './payBatch.ts';
import type { PayingPolicy } from './payingPolicy.ts';
import { BatchRefused, datedByMessage, parseBatch } from './paymentBatch.ts';

/** Metadata of the trigger about a delivery. */
export const deliverySchema = z.object({
  lockToken: z.string().optional(),
  deliveryCount: z.number().default(1),
  messageId: z.string().optional().catch(undefined),
  applicationProperties: z.record(z.string(), z.unknown()).optional().catch(undefined),
  enqueuedTimeUtc: z.coerce.date().optional().catch(undefined),
});

/** Deliveries after which a batch is left to its claims; the queue gives a message up after ten. */
const enoughDeliveries = 5;

/** Outcome of a delivery; in each case the message is done with. */
export type Consumed =
  | BatchResult
  /** It is not a batch: it is in the dead-letter queue now, with this as the reason. */
  | { refused: string }
  /** A newer release sent it: it was sent again, for a process of that release. */
  | { resent: string }
  /** The store was away for too long: the message becomes a dead letter, and its claims go stale. */
  | { left: string };

/** One message of the queue of payment commands, as the host hands it over. */
export interface Delivery {
  message: unknown;
  /** The trigger's metadata. */
  delivery?: unknown;
  /** Once it aborts, no further call begins. */
  signal?: AbortSignal;
}

/**
 * Creates the consumer of the queue of payment commands.
 *
 * - What is not a batch goes to the dead-letter queue at once; what a newer release sent is retried later.
 * - A batch that the store does not take, delivery after delivery, is dropped, or a long outage would fill the dead-letter queue.
 *   Nothing is lost: the claims go stale, and a run orders the payments again.
 * - While a batch is worked on, the message's lock is kept. Once it is lost, no further call begins.
 * - A delivery rejects if the message has to come again.
 */
export function createExecutePayments(
  parts: PayingParts & { messages: HeldMessages; instance: Instance },
  policy: PayingPolicy,
): (delivery: Delivery) => Promise<Consumed> {
  const { messages, instance } = parts;
  const { clock, telemetry } = instance;
  const payBatch = createPayBatch(parts, policy);

  return async ({ message, delivery = {}, signal }) => {
    const { lockToken, deliveryCount, messageId, ...sent } = deliverySchema.parse(delivery);
    const traceparent = traceparentIn(sent.applicationProperties);
    const sentAt = sent.enqueuedTimeUtc?.getTime();
    using lock =
      lockToken === undefined ? undefined : keepMessageLock(() => messages.renew(lockToken), instance);
    const mayCall = () => signal?.aborted !== true && lock?.held() !== false;
    const now = () => Math.max(clock.now(), sentAt ?? 0, lock?.serviceTime() ?? 0);
    try {
      const batch = datedByMessage(parseBatch(message), sentAt);
      const { batchId, runId, shard, commands } = batch;
      const ofBatch = { 'batch.id': batchId, 'run.id': runId, shard, 'batch.size': commands.length };
      return await inSpan(
        'pay batch',
        { attributes: { ...ofBatch, deliveryCount }, parent: traceparent },
        async () => {
          await lock?.asked();
          return payBatch(batch, mayCall, now);
        },
        ({ settled }) => ({ attributes: { 'batch.paid': settled.paid } }),
      );
    } catch (error) {
      if (error instanceof NewerVersion) {
        await messages.sendAgain(message, resendAfterMs, messageId, traceparent);
        return { resent: error.message };
      }
      const away =
        error instanceof NoClearAnswer || (error instanceof StoreAway && error.reason !== 'noAnswer');
      if (away && deliveryCount >= enoughDeliveries) {
        telemetry.count(metric.batchLeft);
        return { left: errorText(error) };
      }
      if (!(error instanceof BatchRefused)) throw error;
      telemetry.count(metric.batchRejected);
      // Without the token the message is redelivered until the queue gives up on it.
      if (lockToken === undefined) throw error;
      await messages.deadLetter(lockToken, { reason: error.name, description: error.message });
      return { refused: error.message };
    }
  };
}
