import { customerOf } from './customers.ts';
import { findEvent, listEvents } from './eventList.ts';
import { type Form, onlyKnown } from './form.ts';
import { createdSince, pageOf } from './pages.ts';
import type { CallContext } from './paymentIntents.ts';
import { testMethod } from './paymentMethods.ts';
import { notFound } from './refusal.ts';
import { ok } from './results.ts';
import type { Store } from './store/index.ts';
import type { Result } from './store/keys.ts';

const disputeParameters = new Set(['charge', 'payment_intent', 'limit', 'starting_after', 'created[gte]']);

export type Reads = ReturnType<typeof createReads>;

/** The operations that only read, on objects that need no more. All throw {Refusal}. */
export function createReads(store: Store, account: string) {
  const none = new Set<string>();

  function found(kind: string, id: string, object: object | undefined, form: Form, context: CallContext) {
    onlyKnown(form, none, ['expand']);
    if (object === undefined) throw notFound(kind, id, kind);
    return ok(context.expand(object));
  }

  return {
    charge: (id: string, form: Form, context: CallContext): Result =>
      found('charge', id, store.charges.get(id), form, context),

    dispute: (id: string, form: Form, context: CallContext): Result =>
      found('dispute', id, store.disputes.get(id), form, context),

    disputes(form: Form, { expand }: CallContext): Result {
      onlyKnown(form, disputeParameters, ['expand']);
      const charge = form.get('charge');
      const all = store.disputes.list(form.get('payment_intent'));
      const wanted = charge === undefined ? all : all.filter((dispute) => dispute.charge === charge);
      return ok(expand(pageOf(form, '/v1/disputes', createdSince(form, wanted))));
    },

    event: (id: string, form: Form, context: CallContext): Result =>
      found('event', id, findEvent(store, id, context.moment), form, context),

    events: (form: Form, { moment }: CallContext): Result => ok(listEvents(store, form, moment)),

    paymentMethod: (id: string, form: Form, context: CallContext): Result =>
      found('payment_method', id, paymentMethod(id), form, context),

    account: (form: Form, context: CallContext): Result =>
      found('account', account, { id: account, object: 'account' }, form, context),
  };
}

/** The test method, in the shape of Stripe's API (https://docs.stripe.com/api/payment_methods/object). */
function paymentMethod(id: string): object | undefined {
  const method = testMethod(id);
  if (method === undefined) return undefined;
  return {
    id,
    object: 'payment_method',
    created: 0,
    customer: null,
    livemode: false,
    metadata: {},
    type: method.type,
  };
}

/** The object whose id a field has, whatever its kind; undefined if the text is no id. */
export function lookUp(store: Store, id: string, field: string): object | undefined {
  // Any text is the id of a customer.
  if (field === 'customer') return customerOf(store, id);
  switch (id.slice(0, id.indexOf('_'))) {
    case 'pi':
      return store.intents.get(id);
    case 'ch':
    case 'py':
      return store.charges.get(id);
    case 're':
    case 'pyr':
      return store.refunds.get(id);
    case 'du':
      return store.disputes.get(id);
    case 'pm':
      return paymentMethod(id);
    default:
      return undefined;
  }
}
