import Stripe from 'stripe';
import type {
  CancelOutcome,
  ChargeOutcome,
  DefaultMethod,
  PaymentProvider,
  RateLimited,
  RefundOutcome,
} from '../paying/paymentProvider.ts';
import { stripeAmount } from './stripeAmount.ts';
import { withTimeOut } from './stripeClient.ts';
import { classifyError, declined, isMissing, rateLimited, silentAfter } from './stripeErrors.ts';
import { classifyIntent } from './stripeIntent.ts';
import { refundStatus } from './stripePayment.ts';

/** Calls besides the charge: the method that it needs first, and the cancellation or refund that may follow. */
export function stripeChanges(
  stripe: Stripe,
  { timeoutMs }: { timeoutMs: number },
): Pick<PaymentProvider, 'cancel' | 'refund' | 'defaultMethod'> {
  return {
    // Without an idempotency key: a payment that was canceled is canceled.
    async cancel(paymentId) {
      return withTimeOut<CancelOutcome | RateLimited>(
        timeoutMs,
        async () => canceledOrNot(await stripe.paymentIntents.cancel(paymentId)),
        (error) => afterCancel(error, paymentId),
      );
    },

    async refund({ paymentId, invoiceId, refundId, amountMinor, currency, idempotencyKey }) {
      const converted = stripeAmount(amountMinor, currency);
      if ('refused' in converted) return { kind: 'refused', code: 'amount', message: converted.refused };
      const asked = {
        payment_intent: paymentId,
        amount: converted.amount,
        metadata: { invoiceId, refundId },
      };
      return withTimeOut<RefundOutcome | RateLimited>(
        timeoutMs,
        async () => {
          const { id, status } = await stripe.refunds.create(asked, { idempotencyKey });
          return { kind: 'refunded', providerId: id, status: refundStatus(status ?? 'pending') };
        },
        refusedRefund,
      );
    },

    async defaultMethod(customerId) {
      return withTimeOut<DefaultMethod | RateLimited>(
        timeoutMs,
        async () => {
          const customer = await stripe.customers.retrieve(customerId);
          if ('deleted' in customer) return { kind: 'none', message: `customer ${customerId} was deleted` };
          const method = customer.invoice_settings.default_payment_method;
          if (method !== null) return { kind: 'method', id: typeof method === 'string' ? method : method.id };
          return { kind: 'none', message: `customer ${customerId} has no default payment method` };
        },
        (error) =>
          isMissing(error)
            ? { kind: 'none', message: `there is no customer ${customerId}` }
            : (rateLimited(error) ?? silentAfter(error)),
      );
    },
  };

  /** Stripe refuses to cancel what has ended or was sent to the bank. Only the payment itself says which. */
  async function afterCancel(error: unknown, paymentId: string): Promise<CancelOutcome | RateLimited> {
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError))
      return rateLimited(error) ?? silentAfter(error);
    return stripe.paymentIntents
      .retrieve(paymentId)
      .then(canceledOrNot, (failure: unknown) => rateLimited(failure) ?? silentAfter(failure));
  }
}

function canceledOrNot({ status }: Stripe.PaymentIntent): CancelOutcome {
  return status === 'canceled'
    ? { kind: 'canceled' }
    : { kind: 'refused', message: `the payment is ${status}` };
}

/** Meaning of an error for a refund: only a refusal of the request itself is final. */
function refusedRefund(error: unknown): RefundOutcome | RateLimited {
  const outcome = classifyError(error);
  const { message } = outcome;
  if (outcome.kind === 'keyReused') return { kind: 'refused', code: 'key_reused', message };
  return outcome.kind === 'declined' ? { kind: 'refused', code: outcome.code, message } : outcome;
}

/** There is no customer to act: canceled, the intent can never charge after all. */
export async function abandon(stripe: Stripe, id: string, processing: ChargeOutcome): Promise<ChargeOutcome> {
  if ((await canceled(stripe, id)).status !== 'canceled') return processing;
  return declined('authentication_required', 'the customer has to confirm the payment');
}

/**
 * A declined intent can be confirmed later by whoever has its client secret (https://docs.stripe.com/declines), while the next
 * try has an intent of its own. So it is canceled first. Unknown as long as that is: the same key asks again.
 */
export async function canceledFirst(
  stripe: Stripe,
  id: string,
  decline: ChargeOutcome,
): Promise<ChargeOutcome> {
  try {
    const intent = await canceled(stripe, id);
    if (intent.status === 'canceled') return decline;
    const outcome = classifyIntent(intent);
    const message = `payment ${id} was declined and is not canceled: it is ${intent.status}`;
    return outcome.kind === 'declined' ? { kind: 'unknown', message } : outcome;
  } catch (error) {
    return silentAfter(error);
  }
}

/** The intent after an attempt to cancel it; one that is canceled already, or has succeeded, refuses that. */
function canceled(stripe: Stripe, id: string): Promise<Stripe.PaymentIntent> {
  return stripe.paymentIntents.cancel(id).catch(() => stripe.paymentIntents.retrieve(id));
}
