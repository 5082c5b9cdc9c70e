import { type Charge, failedCharge, pendingCharge, succeededCharge } from './charge.ts';
import type { OpenDispute } from './disputes.ts';
import type { RecordEvent } from './events.ts';
import type { Incident } from './incident.ts';
import { failedIntent, type Intent, type PaymentError, processingIntent, succeededIntent } from './intent.ts';
import { checkTypeAllowed } from './methodTypes.ts';
import type { Moment } from './moment.ts';
import { methodNamed } from './paymentMethods.ts';
import { invalid } from './refusal.ts';
import { cardError, ok, serverError } from './results.ts';
import type { Store } from './store/index.ts';
import type { Result } from './store/keys.ts';
import type { Decline, TestMethod } from './testMethod.ts';

const genericDecline: Decline = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
};
const authenticationRequired: Decline = {
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message: 'Your card was declined. This transaction requires authentication.',
};

export interface ChargeContext {
  moment: Moment;
  offSession: boolean;
  /** The failure to simulate after the charge, or instead of it. */
  incident: Incident | undefined;
  /** The intent as the caller asked to see it. */
  show: (intent: Intent) => object;
}

export type Charging = ReturnType<typeof createCharging>;

/** Charges intents, now and when a pending charge has its outcome. Call inside a transaction. */
export function createCharging(store: Store, record: RecordEvent, openDispute: OpenDispute) {
  /** @throws {Refusal} if the payment method cannot be charged at all */
  function charge(intent: Intent, { moment, offSession, incident, show }: ChargeContext): Result {
    if (intent.payment_method === null) {
      throw invalid(
        'payment_method',
        'You must provide a payment method to confirm it.',
        'parameter_missing',
      );
    }
    const method = methodNamed(intent.payment_method);
    checkTypeAllowed(method.type, intent.payment_method_types);
    const decline = declineOf(method, { offSession, incident });
    if (method.charged.kind === 'mandateInactive') throw mandateInvalid();
    if (method.charged.kind === 'requiresAction' && decline === undefined) {
      const waiting: Intent = {
        ...intent,
        status: 'requires_action',
        next_action: { type: 'use_stripe_sdk' },
      };
      store.intents.put(waiting, moment.at);
      record('payment_intent.requires_action', waiting, moment);
      return ok(show(waiting));
    }
    const begun = pendingCharge(intent, method.type, moment);
    if (decline !== undefined) {
      return cardError(fail(intent, begun, { type: 'card_error', why: decline, moment }));
    }
    const charged =
      method.charged.kind === 'processing'
        ? wait(intent, begun, method.charged.afterMs, moment)
        : succeed(intent, begun, method, moment);
    return incident === '500-after' ? serverError : ok(show(charged));
  }

  /** The outcome of a pending charge. */
  function settle(id: string, moment: Moment): void {
    const charge = store.charges.get(id);
    const intent = charge === undefined ? undefined : store.intents.get(charge.payment_intent);
    if (charge === undefined || intent === undefined) throw new Error(`no pending charge ${id}`);
    const method = methodNamed(String(charge.payment_method));
    const failure = method.charged.kind === 'processing' ? method.charged.failure : undefined;
    if (failure === undefined) succeed(intent, charge, method, moment);
    else {
      const { chargeCode } = failure;
      fail(intent, charge, { type: 'invalid_request_error', why: failure, chargeCode, moment });
    }
  }

  function wait(intent: Intent, charge: Charge, afterMs: number | undefined, moment: Moment): Intent {
    const waiting = processingIntent(intent, charge.id);
    store.charges.put(charge, moment.idempotencyKey);
    store.intents.put(waiting, moment.at);
    if (afterMs !== undefined) store.due.add(moment.at + afterMs, 'charge', charge.id);
    record('payment_intent.processing', waiting, moment);
    record('charge.pending', charge, moment);
    return waiting;
  }

  function succeed(intent: Intent, pending: Charge, method: TestMethod, moment: Moment): Intent {
    const charge = succeededCharge(pending);
    const paid = succeededIntent(intent, charge.id);
    store.charges.put(charge, moment.idempotencyKey);
    store.intents.put(paid, moment.at);
    store.ledger.add({
      id: charge.id,
      invoiceId: paid.metadata.invoiceId ?? null,
      amount: paid.amount,
      currency: paid.currency,
      idempotencyKey: moment.idempotencyKey ?? store.charges.keyOf(charge.id),
      paymentIntent: paid.id,
      status: 'succeeded',
      createdAt: new Date(moment.at).toISOString(),
    });
    record('charge.succeeded', charge, moment);
    record('payment_intent.succeeded', paid, moment);
    if (method.disputed !== undefined) openDispute(charge, method.disputed, moment);
    return paid;
  }

  function fail(
    intent: Intent,
    pending: Charge,
    {
      type,
      why,
      chargeCode = why.code,
      moment,
    }: { type: PaymentError['type']; why: Decline; chargeCode?: string; moment: Moment },
  ): Intent {
    const charge = failedCharge(pending, chargeCode, why.message);
    const failed = failedIntent(intent, type, why, charge.id);
    store.charges.put(charge, moment.idempotencyKey);
    store.intents.put(failed, moment.at);
    record('charge.failed', charge, moment);
    record('payment_intent.payment_failed', failed, moment);
    return failed;
  }

  return { charge, settle };
}

function declineOf(
  { charged }: TestMethod,
  { offSession, incident }: Pick<ChargeContext, 'offSession' | 'incident'>,
): Decline | undefined {
  if (incident === 'decline') return genericDecline;
  if (charged.kind === 'declines') return charged.decline;
  return charged.kind === 'requiresAction' && offSession ? authenticationRequired : undefined;
}

/** https://docs.stripe.com/error-codes#payment-intent-mandate-invalid */
function mandateInvalid() {
  return invalid(
    undefined,
    "The provided mandate is invalid and can't be used for the payment intent.",
    'payment_intent_mandate_invalid',
  );
}
