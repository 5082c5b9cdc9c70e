import { failedCharge } from './charge.ts';
import type { Intent } from './intent.ts';
import type { Moment } from './moment.ts';
import { Refusal } from './refusal.ts';
import type { Store } from './store/index.ts';

/**
 * Time in which a bank debit in progress can be canceled (ms). Stripe says that a debit can, while a payment
 * by card cannot, and that it "might fail due to a limited and varying cancellation time window"
 * (https://docs.stripe.com/payments/paymentintents/lifecycle). This server's window is an hour.
 */
const cancelWindowMs = 3600 * 1000;

/** @throws {Refusal} if the intent can no longer be confirmed */
export function checkConfirmable(intent: Intent): void {
  if (['succeeded', 'canceled', 'processing'].includes(intent.status))
    throw unexpectedState(intent, 'confirm');
}

/** @throws {Refusal} if the intent can no longer be canceled */
export function checkCancelable(store: Store, intent: Intent, { at }: Moment): void {
  if (intent.status === 'succeeded' || intent.status === 'canceled') throw unexpectedState(intent, 'cancel');
  if (intent.status !== 'processing') return;
  const charge = store.charges.get(String(intent.latest_charge));
  const isDebit = charge !== undefined && charge.payment_method_details.type !== 'card';
  // The test method that stays in progress is there to be canceled, whenever that may be.
  const endless = intent.payment_method === 'pm_usBankAccount_processing';
  const inTime = charge !== undefined && at - charge.created * 1000 < cancelWindowMs;
  if (!isDebit || !(inTime || endless)) throw unexpectedState(intent, 'cancel');
}

/** Ends the charge of a canceled debit. Stripe does not say what becomes of it; here it has failed. */
export function stopDebit(store: Store, { latest_charge: id }: Intent): void {
  const charge = store.charges.get(String(id));
  if (charge === undefined) return;
  store.due.remove(charge.id);
  store.charges.put(failedCharge(charge, null, null));
}

function unexpectedState(intent: Intent, action: string): Refusal {
  return new Refusal(400, {
    type: 'invalid_request_error',
    code: 'payment_intent_unexpected_state',
    message: `You cannot ${action} this PaymentIntent because it has a status of ${intent.status}.`,
    payment_intent: intent,
  });
}
