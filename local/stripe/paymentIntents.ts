import { checkCancelable, checkConfirmable, stopDebit } from './cancellation.ts';
import type { Charging } from './charging.ts';
import type { RecordEvent } from './events.ts';
import type { Expand } from './expand.ts';
import { children, type Form, flag, integer, onlyKnown, required } from './form.ts';
import type { Incident } from './incident.ts';
import { type Intent, newIntent } from './intent.ts';
import type { Moment } from './moment.ts';
import { pageOf, pageSize } from './pages.ts';
import { methodNamed } from './paymentMethods.ts';
import { checkKnown, notFound } from './refusal.ts';
import { ok } from './results.ts';
import { parseSearchQuery } from './searchQuery.ts';
import type { Store } from './store/index.ts';
import type { Result } from './store/keys.ts';

const confirmParameters = new Set(['payment_method', 'off_session', 'return_url']);
const cancelParameters = new Set(['cancellation_reason']);
const searchParameters = new Set(['query', 'limit', 'page']);
const listParameters = new Set(['limit', 'starting_after', 'created[gte]', 'created[lte]', 'customer']);

/** Inputs of a call other than its parameters. */
export interface CallContext {
  moment: Moment;
  incident: Incident | undefined;
  expand: Expand;
}

export type PaymentIntents = ReturnType<typeof createPaymentIntents>;

/** The operations on payment intents. Call each inside a transaction. All throw {Refusal}. */
export function createPaymentIntents({
  store,
  record,
  charging,
  searchLagMs,
}: {
  store: Store;
  record: RecordEvent;
  charging: Charging;
  searchLagMs: number;
}) {
  function create(form: Form, context: CallContext): Result {
    const { moment, expand } = context;
    const intent = newIntent(form, moment);
    record('payment_intent.created', intent, moment);
    if (flag(form, 'confirm')) return charge(intent, form, context);
    if (intent.payment_method !== null) methodNamed(intent.payment_method);
    store.intents.put(intent, moment.at);
    return ok(expand(intent));
  }

  function confirm(id: string, form: Form, context: CallContext): Result {
    onlyKnown(form, confirmParameters, ['expand']);
    const intent = existing(id);
    checkConfirmable(intent);
    const method = form.get('payment_method') ?? intent.payment_method;
    return charge({ ...intent, payment_method: method }, form, context);
  }

  const charge = (intent: Intent, form: Form, { moment, incident, expand }: CallContext) =>
    charging.charge(intent, { moment, offSession: flag(form, 'off_session'), incident, show: expand });

  function cancel(id: string, form: Form, { moment, expand }: CallContext): Result {
    onlyKnown(form, cancelParameters, ['expand']);
    const intent = existing(id);
    checkCancelable(store, intent, moment);
    if (intent.status === 'processing') stopDebit(store, intent);
    const canceled: Intent = {
      ...intent,
      status: 'canceled',
      canceled_at: Math.floor(moment.at / 1000),
      cancellation_reason: form.get('cancellation_reason') ?? null,
    };
    store.intents.put(canceled, moment.at);
    record('payment_intent.canceled', canceled, moment);
    return ok(expand(canceled));
  }

  function retrieve(id: string, form: Form, { expand }: CallContext): Result {
    onlyKnown(form, new Set(), ['expand']);
    return ok(expand(existing(id)));
  }

  /** Shows each intent as it was before the lag. */
  function search(form: Form, { moment, expand }: CallContext): Result {
    onlyKnown(form, searchParameters, ['expand']);
    const { matches, invoiceId } = parseSearchQuery(required(form, 'query'));
    const limit = pageSize(form);
    const start = integer('page', form.get('page') ?? '0');
    const found = store.intents.asOf(moment.at - searchLagMs, invoiceId).filter(matches);
    const more = found.length > start + limit;
    return ok(
      expand({
        object: 'search_result',
        url: '/v1/payment_intents/search',
        has_more: more,
        next_page: more ? String(start + limit) : null,
        data: found.slice(start, start + limit),
      }),
    );
  }

  /** Newest first. Unlike search it has no lag: it includes every completed call. */
  function list(form: Form, { moment, expand }: CallContext): Result {
    onlyKnown(form, listParameters, ['expand']);
    const { gte = '0', lte } = children(form, 'created');
    const since = integer('created[gte]', gte);
    const until = lte === undefined ? Number.POSITIVE_INFINITY : integer('created[lte]', lte);
    const of = form.get('customer');
    if (of !== undefined) checkKnown(of);
    const all = store.intents
      .asOf(moment.at)
      .filter(
        ({ created, customer }) =>
          created >= since && created <= until && (of === undefined || customer === of),
      );
    return ok(expand(pageOf(form, '/v1/payment_intents', all)));
  }

  function existing(id: string): Intent {
    const intent = store.intents.get(id);
    if (intent === undefined) throw notFound('payment_intent', id, 'intent');
    return intent;
  }

  return { create, confirm, cancel, retrieve, search, list };
}
