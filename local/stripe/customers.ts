import type { Customer } from './customer.ts';
import { children, type Form, onlyKnown } from './form.ts';
import { newId } from './ids.ts';
import { epochSeconds } from './moment.ts';
import type { CallContext } from './paymentIntents.ts';
import { testMethod } from './paymentMethods.ts';
import { invalid, notFound } from './refusal.ts';
import { ok } from './results.ts';
import type { Store } from './store/index.ts';
import type { Result } from './store/keys.ts';

const parameters = new Set([
  'description',
  'email',
  'name',
  'payment_method',
  'invoice_settings[default_payment_method]',
]);
const defaultMethod = 'invoice_settings[default_payment_method]';

/** Any id is a customer: one that was never written has nothing but its id. */
export function customerOf(store: Store, id: string): Customer {
  return (
    store.customers.get(id) ?? {
      id,
      object: 'customer',
      created: 0,
      description: null,
      email: null,
      invoice_settings: { default_payment_method: null },
      livemode: false,
      metadata: {},
      name: null,
    }
  );
}

/** The operations on customers. Call each inside a transaction. All throw {Refusal}. */
export type Customers = ReturnType<typeof createCustomers>;

export function createCustomers(store: Store) {
  function create(form: Form, context: CallContext): Result {
    const customer = { ...customerOf(store, newId('cus')), created: epochSeconds(context.moment) };
    return write(customer, form, context);
  }

  function update(id: string, form: Form, context: CallContext): Result {
    return write(customerOf(store, id), form, context);
  }

  function retrieve(id: string, form: Form, { expand }: CallContext): Result {
    onlyKnown(form, new Set(), ['expand']);
    if (id.startsWith('cus_deleted')) return ok({ id, object: 'customer', deleted: true });
    if (id.startsWith('cus_missing')) throw notFound('customer', id);
    return ok(expand(customerOf(store, id)));
  }

  function write(before: Customer, form: Form, { moment, expand }: CallContext): Result {
    onlyKnown(form, parameters, ['metadata', 'expand']);
    const method = form.get(defaultMethod);
    if (method !== undefined && method !== '' && testMethod(method) === undefined) {
      throw invalid(defaultMethod, `No such PaymentMethod: '${method}'`, 'resource_missing');
    }
    const customer: Customer = {
      ...before,
      description: changed(form, 'description', before.description),
      email: changed(form, 'email', before.email),
      invoice_settings: {
        default_payment_method: changed(form, defaultMethod, before.invoice_settings.default_payment_method),
      },
      metadata: { ...before.metadata, ...children(form, 'metadata') },
      name: changed(form, 'name', before.name),
    };
    store.customers.put(customer, moment.idempotencyKey);
    return ok(expand(customer));
  }

  return { create, update, retrieve };
}

/** An empty text unsets a field (https://docs.stripe.com/api/customers/update). */
function changed(form: Form, name: string, before: string | null): string | null {
  const value = form.get(name);
  return value === undefined ? before : value || null;
}
