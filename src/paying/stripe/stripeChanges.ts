import Stripe from 'stripe';
import { stripeAmount } from '../../invoice/stripeAmount.ts';
import type {
  CancelOutcome,
  DefaultMethod,
  PaymentProvider,
  RateLimited,
  RefundOutcome,
} from '../paymentProvider.ts';
import { classifyError, isMissing, rateLimited, silentAfter } from './classifyStripe.ts';
import { inTime } from './stripeClient.ts';
import { refundStatus } from './stripeIntent.ts';

/** What can be done to a payment after its charge, and what is needed before. */
export function stripeChanges(
  stripe: Stripe,
  { timeoutMs }: { timeoutMs: number },
): Required<Pick<PaymentProvider, 'cancel' | 'refund' | 'defaultMethod'>> {
  return {
    // Without an idempotency key: a payment that was canceled is canceled.
    async cancel(paymentId) {
      return inTime<CancelOutcome | RateLimited>(timeoutMs, async () => {
        try {
          const { status } = await stripe.paymentIntents.cancel(paymentId);
          return status === 'canceled'
            ? { kind: 'canceled' }
            : { kind: 'refused', message: `the payment is ${status}` };
        } catch (error) {
          return afterCancel(error, paymentId);
        }
      });
    },

    async refund({ paymentId, invoiceId, refundId, amountMinor, currency, idempotencyKey }) {
      const converted = stripeAmount(amountMinor, currency);
      if ('refused' in converted) return { kind: 'refused', code: 'amount', message: converted.refused };
      return inTime<RefundOutcome | RateLimited>(timeoutMs, async () => {
        try {
          const { id, status } = await stripe.refunds.create(
            {
              payment_intent: paymentId,
              amount: converted.amount,
              metadata: { invoiceId, refundId },
            },
            { idempotencyKey },
          );
          return { kind: 'refunded', providerId: id, status: refundStatus(status ?? 'pending') };
        } catch (error) {
          return refusedRefund(error);
        }
      });
    },

    async defaultMethod(customerId) {
      return inTime<DefaultMethod | RateLimited>(timeoutMs, async () => {
        try {
          const customer = await stripe.customers.retrieve(customerId);
          if ('deleted' in customer) return { kind: 'none', message: `customer ${customerId} was deleted` };
          const method = customer.invoice_settings.default_payment_method;
          if (method !== null) return { kind: 'method', id: typeof method === 'string' ? method : method.id };
          return { kind: 'none', message: `customer ${customerId} has no default payment method` };
        } catch (error) {
          if (isMissing(error)) return { kind: 'none', message: `there is no customer ${customerId}` };
          return rateLimited(error) ?? silentAfter(error);
        }
      });
    },
  };

  /** Stripe refuses to cancel what has ended or is on its way to the bank. Only the payment itself says which. */
  async function afterCancel(error: unknown, paymentId: string): Promise<CancelOutcome | RateLimited> {
    const limited = rateLimited(error);
    if (limited !== undefined) return limited;
    if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) {
      return silentAfter(error);
    }
    try {
      const { status } = await stripe.paymentIntents.retrieve(paymentId);
      if (status === 'canceled') return { kind: 'canceled' };
      return { kind: 'refused', message: `the payment is ${status}` };
    } catch (failure) {
      return rateLimited(failure) ?? silentAfter(failure);
    }
  }
}

/** What an error says about a refund: only a refusal of the request itself is final. */
function refusedRefund(error: unknown): RefundOutcome | RateLimited {
  const outcome = classifyError(error);
  switch (outcome.kind) {
    case 'rateLimited':
    case 'transient':
    case 'refused':
    case 'unknown':
      return outcome;
    case 'keyReused':
      return { kind: 'refused', code: 'key_reused', message: outcome.message };
    case 'declined':
      return { kind: 'refused', code: outcome.code, message: outcome.message };
    // No error is classified as one of these.
    case 'succeeded':
    case 'processing':
    case 'reversed':
    case 'heldBack':
      return silentAfter(error);
  }
}
