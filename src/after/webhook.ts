import { createHash, createHmac } from 'node:crypto';
import { activeTrace } from '@payonce/jobs/tracing';
import { defineStage, RetryLater, RetryForADay, type Stage } from '@payonce/jobs/work-items';
import type { Clock } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import type { FollowUp, InvoiceEnd, ReversalEnd } from '../invoice/followUps.ts';

export interface WebhookSettings {
  url: string;
  /** `whsec_` and base64, or any text, whose bytes are then the key. */
  secret: string;
}

/**
 * Answers that are about the notification itself (RFC 9110). Every other failure, such as 401, 404, 429 or 5xx, would meet
 * any notification: the receiver is down, or its address or secret is wrong.
 */
const refusals: ReadonlySet<number> = new Set([400, 409, 410, 413, 415, 422]);

/** Milliseconds. */
const timeoutMs = 10_000;

const stageName = 'notify';

/** Orders a notification of every end, and of each thing that becomes of a refund or dispute. */
export const webhookFollowUp: FollowUp = {
  name: stageName,
  on: ['paid', 'declined', 'parked', 'refunded', 'refundFailed', 'disputed', 'disputeLost'],
  order({ invoice, end }, { at, occasion }) {
    const { invoiceId, customerId, amountMinor, currency } = invoice;
    const input = {
      type: typeOf[end.kind],
      at,
      customerId,
      amountMinor,
      currency,
      ...detailsOf(end, currency),
    };
    const item = { resourceId: invoiceId, stage: stageName, input };
    if (!isReversal(end)) return { ...item, occasion };
    // The reversal names its occasion, so that it is announced once whichever way it is learnt.
    return { ...item, occasion: `${end.kind}-${end.reversalId}` };
  },
};

const typeOf = {
  paid: 'invoice.paid',
  declined: 'invoice.declined',
  parked: 'invoice.parked',
  refunded: 'invoice.refunded',
  refundFailed: 'invoice.refund_failed',
  disputed: 'invoice.disputed',
  disputeLost: 'invoice.dispute_lost',
} as const satisfies Record<InvoiceEnd['kind'], string>;

function isReversal(end: InvoiceEnd): end is ReversalEnd {
  return 'reversalId' in end;
}

function detailsOf(end: InvoiceEnd, currency: string): Record<string, string | number> {
  if (end.kind === 'paid') return { paymentId: end.paymentId };
  if (!isReversal(end)) return { reason: end.reason };
  const { kind: _, reversedCurrency = currency, ...reversal } = end;
  return { ...reversal, reversedCurrency };
}

/**
 * The stage that tells a webhook how an invoice ended, signed as https://www.standardwebhooks.com describes. A repetition has the
 * same `webhook-id`, which also comes as `idempotency-key`. A redirect fails: a signed body goes only to the configured address.
 */
export function webhookStage(
  { url, secret }: WebhookSettings,
  { clock, send = fetch }: { clock: Clock; send?: typeof fetch },
): Stage {
  const key = secretKey(secret);
  return defineStage({
    name: stageName,
    input: z.object({
      type: z.enum(Object.values(typeOf)),
      at: z.string(),
      customerId: z.string(),
      amountMinor: z.int().positive(),
      currency: z.string(),
      paymentId: z.string().exactOptional(),
      reversalId: z.string().exactOptional(),
      reversedMinor: z.int().positive().exactOptional(),
      reversedCurrency: z.string().exactOptional(),
      reason: z.string().exactOptional(),
    }),
    async handle({ type, at, ...data }, { resourceId, occasion = '', signal, assertHeld }) {
      const event = createHash('sha256').update(JSON.stringify([resourceId, type, occasion]));
      const id = `msg_${event.digest('base64url')}`;
      const body = JSON.stringify({ type, timestamp: at, data: { invoiceId: resourceId, ...data } });
      const timestamp = String(Math.floor(clock.now() / 1000));
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      assertHeld();
      const request = {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          'idempotency-key': id,
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
          // The receiver can go on with the trace (https://www.w3.org/TR/trace-context/).
          ...activeTrace(),
        },
        redirect: 'error' as const,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      };
      const response = await send(url, request).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new RetryLater(`the webhook cannot be reached: ${whyUnreachable(error)}`, { cause: error });
      });
      await response.body?.cancel();
      const { ok, status } = response;
      if (refusals.has(status)) throw new RetryForADay(`the webhook refuses it: ${status}`);
      if (!ok) throw new RetryLater(`the webhook answered ${status}`);
      return { webhookId: id, status };
    },
  });
}

/** `fetch` says no more than that it failed; its cause says why. */
function whyUnreachable(error: unknown): string {
  return errorText(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

function secretKey(secret: string): Buffer {
  const prefix = 'whsec_';
  return secret.startsWith(prefix)
    ? Buffer.from(secret.slice(prefix.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
