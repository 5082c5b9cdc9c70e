import { children, type Form, flag, integer, onlyKnown, required } from './form.ts';
import type { Incident } from './incident.ts';
import { declinedIntent, type Intent, newId, newIntent, succeeded } from './intent.ts';
import { type Decline, type PaymentMethod, paymentMethod } from './paymentMethods.ts';
import { type ErrorBody, invalid, Refusal } from './refusal.ts';
import { parseSearchQuery } from './searchQuery.ts';
import type { Result, Store } from './store.ts';

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

const confirmParameters = new Set(['payment_method', 'off_session', 'return_url']);
const cancelParameters = new Set(['cancellation_reason']);
const searchParameters = new Set(['query', 'limit', 'page']);
const listParameters = new Set(['limit', 'starting_after', 'created[gte]']);

export interface ChargeContext {
  idempotencyKey: string | undefined;
  /** The failure to simulate after the charge, or instead of it. */
  incident: Incident | undefined;
}

export type PaymentIntents = ReturnType<typeof createPaymentIntents>;

/**
 * The operations on payment intents. Call each inside a transaction. All throw {Refusal}.
 */
export function createPaymentIntents(
  store: Store,
  { now, searchLagMs }: { now: () => number; searchLagMs: number },
) {
  function create(form: Form, context: ChargeContext): Result {
    const intent = newIntent(form, now());
    if (flag(form, 'confirm')) return charge(intent, form, context);
    if (intent.payment_method !== null) methodOf(intent.payment_method);
    store.putIntent(intent, now());
    return ok(intent);
  }

  function confirm(id: string, form: Form, context: ChargeContext): Result {
    onlyKnown(form, confirmParameters);
    const intent = existing(id);
    if (intent.status === 'succeeded' || intent.status === 'canceled')
      throw unexpectedState(intent, 'confirm');
    return charge(
      { ...intent, payment_method: form.get('payment_method') ?? intent.payment_method },
      form,
      context,
    );
  }

  function cancel(id: string, form: Form): Result {
    onlyKnown(form, cancelParameters);
    const intent = existing(id);
    if (intent.status === 'succeeded' || intent.status === 'canceled')
      throw unexpectedState(intent, 'cancel');
    const canceled: Intent = { ...intent, status: 'canceled' };
    store.putIntent(canceled, now());
    return ok(canceled);
  }

  function retrieve(id: string): Result {
    return ok(existing(id));
  }

  function search(form: Form): Result {
    onlyKnown(form, searchParameters);
    const { matches, invoiceId } = parseSearchQuery(required(form, 'query'));
    const limit = pageSize(form);
    const start = integer('page', form.get('page') ?? '0');
    const found = store.intents(now() - searchLagMs, invoiceId).filter(matches);
    const more = found.length > start + limit;
    return ok({
      object: 'search_result',
      url: '/v1/payment_intents/search',
      has_more: more,
      next_page: more ? String(start + limit) : null,
      data: found.slice(start, start + limit),
    });
  }

  /** Newest first. Unlike search it has no lag: it includes every completed call. */
  function list(form: Form): Result {
    onlyKnown(form, listParameters);
    const limit = pageSize(form);
    const since = integer('created[gte]', children(form, 'created').gte ?? '0');
    const all = store.intents(now()).filter(({ created }) => created >= since);
    const after = form.get('starting_after');
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === existing(after).id) + 1;
    const data = all.slice(start, start + limit);
    return ok({ object: 'list', url: '/v1/payment_intents', has_more: all.length > start + limit, data });
  }

  function charge(intent: Intent, form: Form, { idempotencyKey, incident }: ChargeContext): Result {
    if (intent.payment_method === null) {
      throw invalid(
        'payment_method',
        'You must provide a payment method to confirm it.',
        'parameter_missing',
      );
    }
    const method = methodOf(intent.payment_method);
    if (incident === 'decline') return decline(intent, genericDecline);
    if (method.kind === 'declines') return decline(intent, method.decline);
    if (method.kind === 'requiresAction') {
      if (flag(form, 'off_session')) return decline(intent, authenticationRequired);
      const waiting: Intent = {
        ...intent,
        status: 'requires_action',
        next_action: { type: 'use_stripe_sdk' },
      };
      store.putIntent(waiting, now());
      return ok(waiting);
    }
    const paid = succeeded(intent, newId('ch'));
    store.putIntent(paid, now());
    store.addCharge({
      id: String(paid.latest_charge),
      invoiceId: paid.metadata.invoiceId ?? null,
      amount: paid.amount,
      currency: paid.currency,
      idempotencyKey: idempotencyKey ?? null,
      paymentIntent: paid.id,
      status: 'succeeded',
      createdAt: new Date(now()).toISOString(),
    });
    return incident === '500-after' ? serverError : ok(paid);
  }

  function decline(intent: Intent, why: Decline): Result {
    const declined = declinedIntent(intent, why);
    store.putIntent(declined, now());
    const { last_payment_error: error } = declined;
    return { status: 402, body: JSON.stringify({ error: { ...error, payment_intent: declined } }) };
  }

  function existing(id: string): Intent {
    const intent = store.intent(id);
    if (intent === undefined) {
      const error: ErrorBody = {
        type: 'invalid_request_error',
        code: 'resource_missing',
        message: `No such payment_intent: '${id}'`,
        param: 'intent',
      };
      throw new Refusal(404, error);
    }
    return intent;
  }

  return { create, confirm, cancel, retrieve, search, list };
}

const serverError: Result = {
  status: 500,
  body: JSON.stringify({ error: { type: 'api_error', message: 'An unknown error occurred.' } }),
};

function pageSize(form: Form): number {
  const limit = integer('limit', form.get('limit') ?? '10');
  if (limit < 1 || limit > 100) throw invalid('limit', 'limit must be between 1 and 100.');
  return limit;
}

function methodOf(name: string): PaymentMethod {
  const method = paymentMethod(name);
  if (method === undefined) {
    throw invalid('payment_method', `No such PaymentMethod: '${name}'`, 'resource_missing');
  }
  return method;
}

function unexpectedState({ status }: Intent, action: string): Refusal {
  return invalid(
    undefined,
    `You cannot ${action} this PaymentIntent because it has a status of ${status}.`,
    'payment_intent_unexpected_state',
  );
}

function ok(value: object): Result {
  return { status: 200, body: JSON.stringify(value) };
}
