import { unsupported } from './refusal.ts';

export const operations = [
  'create',
  'confirm',
  'cancel',
  'retrieve',
  'search',
  'list',
  'refund',
  'retrieveRefund',
  'listRefunds',
  'retrieveCharge',
  'retrieveDispute',
  'listDisputes',
  'retrieveEvent',
  'listEvents',
  'createCustomer',
  'updateCustomer',
  'retrieveCustomer',
  'retrieveMethod',
  'retrieveAccount',
] as const;
export type Operation = (typeof operations)[number];

/** By method and path. `:id` stands for any id; the first that fits counts. */
const routes: Readonly<Record<string, Operation>> = {
  'POST /v1/payment_intents': 'create',
  'GET /v1/payment_intents': 'list',
  'GET /v1/payment_intents/search': 'search',
  'GET /v1/payment_intents/:id': 'retrieve',
  'POST /v1/payment_intents/:id/confirm': 'confirm',
  'POST /v1/payment_intents/:id/cancel': 'cancel',
  'POST /v1/refunds': 'refund',
  'GET /v1/refunds': 'listRefunds',
  'GET /v1/refunds/:id': 'retrieveRefund',
  'GET /v1/charges/:id': 'retrieveCharge',
  'GET /v1/disputes': 'listDisputes',
  'GET /v1/disputes/:id': 'retrieveDispute',
  'GET /v1/events': 'listEvents',
  'GET /v1/events/:id': 'retrieveEvent',
  'POST /v1/customers': 'createCustomer',
  'GET /v1/customers/:id': 'retrieveCustomer',
  'POST /v1/customers/:id': 'updateCustomer',
  'GET /v1/payment_methods/:id': 'retrieveMethod',
  'GET /v1/account': 'retrieveAccount',
};

/** The operation that a method and path name. `id` is empty if the operation takes none. */
export interface Route {
  operation: Operation;
  id: string;
}

/** @throws {Refusal} 501 if the operation is not supported */
export function routeOf(method: string, path: string): Route {
  const whole = routes[`${method} ${path}`];
  if (whole !== undefined) return { operation: whole, id: '' };
  const [, version, kind, id = '', ...rest] = path.split('/');
  const operation = routes[`${method} ${['', version, kind, ':id', ...rest].join('/')}`];
  if (operation === undefined || id === '') throw unsupported(`${method} ${path}`);
  return { operation, id: decodeURIComponent(id) };
}
