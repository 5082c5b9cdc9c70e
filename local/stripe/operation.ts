import { unsupported } from './refusal.ts';

export const operations = ['create', 'confirm', 'cancel', 'retrieve', 'search', 'list'] as const;
export type Operation = (typeof operations)[number];

/** The operation that a method and path name. `id` is empty if the operation takes none. */
export interface Route {
  operation: Operation;
  id: string;
}

const intents = '/v1/payment_intents';

/** @throws {Refusal} 501 if the operation is not supported */
export function routeOf(method: string, path: string): Route {
  if (path === intents && method === 'POST') return { operation: 'create', id: '' };
  if (path === intents && method === 'GET') return { operation: 'list', id: '' };
  const [id = '', action, ...more] = path.startsWith(`${intents}/`)
    ? path.slice(intents.length + 1).split('/')
    : [];
  if (id !== '' && more.length === 0) {
    if (method === 'GET' && action === undefined) {
      return id === 'search' ? { operation: 'search', id: '' } : { operation: 'retrieve', id };
    }
    if (method === 'POST' && (action === 'confirm' || action === 'cancel')) return { operation: action, id };
  }
  throw unsupported(`${method} ${path}`);
}
