import type { Customers } from './customers.ts';
import type { Form } from './form.ts';
import type { Route } from './operation.ts';
import type { CallContext, PaymentIntents } from './paymentIntents.ts';
import type { Reads } from './reads.ts';
import type { Refunds } from './refunds.ts';
import type { Result } from './store/keys.ts';

export type Dispatch = (route: Route, form: Form, context: CallContext) => Result;

/** Calls the operation that a route names. Call inside a transaction. */
export function createDispatch({
  intents,
  refunds,
  customers,
  reads,
}: {
  intents: PaymentIntents;
  refunds: Refunds;
  customers: Customers;
  reads: Reads;
}): Dispatch {
  return ({ operation, id }, form, context) => {
    switch (operation) {
      case 'create':
        return intents.create(form, context);
      case 'confirm':
        return intents.confirm(id, form, context);
      case 'cancel':
        return intents.cancel(id, form, context);
      case 'retrieve':
        return intents.retrieve(id, form, context);
      case 'search':
        return intents.search(form, context);
      case 'list':
        return intents.list(form, context);
      case 'refund':
        return refunds.create(form, context);
      case 'retrieveRefund':
        return refunds.retrieve(id, form, context);
      case 'listRefunds':
        return refunds.list(form, context);
      case 'createCustomer':
        return customers.create(form, context);
      case 'updateCustomer':
        return customers.update(id, form, context);
      case 'retrieveCustomer':
        return customers.retrieve(id, form, context);
      case 'retrieveCharge':
        return reads.charge(id, form, context);
      case 'retrieveDispute':
        return reads.dispute(id, form, context);
      case 'listDisputes':
        return reads.disputes(form, context);
      case 'retrieveEvent':
        return reads.event(id, form, context);
      case 'listEvents':
        return reads.events(form, context);
      case 'retrieveMethod':
        return reads.paymentMethod(id, form, context);
      case 'retrieveAccount':
        return reads.account(form, context);
    }
  };
}
