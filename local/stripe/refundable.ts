import type { Charge } from './charge.ts';
import { type Form, integer } from './form.ts';
import { invalid, notFound } from './refusal.ts';
import type { Store } from './store/index.ts';

/**
 * The charge that a refund is for.
 *
 * @throws {Refusal} if there is nothing to refund: in the words and with the codes of Stripe's answers
 * (https://docs.stripe.com/error-codes, https://github.com/gburgyan/aat-stripe plans/refunds/refund-limits.yaml)
 */
export function refundableCharge(store: Store, form: Form): Charge {
  const chargeId = form.get('charge');
  const intentId = form.get('payment_intent');
  if (chargeId === undefined && intentId === undefined) {
    throw invalid(
      undefined,
      'One of the following params should be provided for this request: payment_intent or charge.',
      'parameter_missing',
    );
  }
  const intent = intentId === undefined ? undefined : store.intents.get(intentId);
  if (intentId !== undefined && intent === undefined) {
    throw notFound('payment_intent', intentId, 'payment_intent');
  }
  const charge = store.charges.get(chargeId ?? String(intent?.latest_charge));
  if (chargeId !== undefined && charge === undefined) throw notFound('charge', chargeId, 'charge');
  if (charge?.status !== 'succeeded') {
    const which = charge?.payment_intent ?? intentId;
    throw invalid(undefined, `This PaymentIntent (${which}) does not have a successful charge to refund.`);
  }
  if (charge.refunded) {
    throw invalid(undefined, `Charge ${charge.id} has already been refunded.`, 'charge_already_refunded');
  }
  if (store.disputes.list(charge.payment_intent).some((dispute) => !dispute.is_charge_refundable)) {
    throw invalid(
      undefined,
      `Charge ${charge.id} has been charged back; cannot issue a refund.`,
      'charge_disputed',
    );
  }
  return charge;
}

/** Reads the amount to refund: all that is left, unless the form names an amount. @throws {Refusal} */
export function refundAmount(form: Form, charge: Charge): number {
  const left = charge.amount - charge.amount_refunded;
  const text = form.get('amount');
  if (text === undefined) return left;
  const amount = integer('amount', text);
  if (amount < 1) {
    throw invalid('amount', 'This value must be greater than or equal to 1.', 'parameter_invalid_integer');
  }
  if (amount > left) {
    throw invalid(
      'amount',
      `Refund amount (${amount} ${charge.currency}) is greater than unrefunded amount on charge ` +
        `(${left} ${charge.currency})`,
    );
  }
  return amount;
}
