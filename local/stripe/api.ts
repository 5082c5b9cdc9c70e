import type { Dispatch } from './dispatch.ts';
import { type Expand, expandAs } from './expand.ts';
import type { Faults } from './faults.ts';
import { type Form, readForm } from './form.ts';
import type { Idempotency } from './idempotency.ts';
import { newId } from './ids.ts';
import type { Incident } from './incident.ts';
import type { Latency } from './latency.ts';
import { type Operation, type Route, routeOf } from './operation.ts';
import { testMethod } from './paymentMethods.ts';
import type { RateLimits } from './rateLimits.ts';
import { lookUp } from './reads.ts';
import { invalid, Refusal, rateLimited } from './refusal.ts';
import type { Stats } from './stats.ts';
import type { Store } from './store/index.ts';

/** An API request, its body read. */
export interface ApiRequest {
  method: string;
  path: string;
  query: string;
  authorization: string | undefined;
  idempotencyKey: string | undefined;
  body: string;
}

export type Answer =
  | { kind: 'answer'; status: number; body: string; headers: Readonly<Record<string, string>> }
  /** No response: the caller waits for its own timeout. */
  | { kind: 'silence' }
  | { kind: 'reset' };

export interface ApiParts {
  secretKey: string;
  store: Store;
  now: () => number;
  dispatch: Dispatch;
  idempotency: Idempotency;
  rateLimits: RateLimits;
  latency: Latency;
  faults: Faults;
  stats: Stats;
  sleep: (ms: number) => Promise<void>;
  /** Settles what is due. */
  settle: () => void;
  /** Called after each call that may have changed something. */
  changed: () => void;
}

const failing = { first: 1, firstTwo: 2, all: Number.POSITIVE_INFINITY };

/**
 * Answers API requests, checking in Stripe's order: secret key, rate limit, idempotency key, parameters,
 * charge (https://docs.stripe.com/error-low-level#idempotency).
 */
export function createApi(parts: ApiParts) {
  const { secretKey, store, now, idempotency, rateLimits, latency, faults, stats, sleep } = parts;
  const authorization = `Bearer ${secretKey}`;
  const pause = (ms: number) => (ms > 0 ? () => sleep(ms) : undefined);

  return async function answer(request: ApiRequest): Promise<Answer> {
    const requestId = newId('req');
    const responseHeaders = { 'request-id': requestId };
    try {
      if (request.authorization !== authorization) throw unauthorized(request.authorization);
      const route = routeOf(request.method, request.path);
      stats.count(route.operation);
      const reason = rateLimits.refuses(route.operation);
      if (reason !== undefined) {
        stats.countOverRate(route.operation);
        // Stripe documents no `Retry-After`. The fault `429` sends one.
        throw rateLimited({ 'stripe-rate-limited-reason': reason });
      }
      parts.settle();
      const form = readForm(request.method === 'GET' ? request.query : request.body);
      const call = { operation: route.operation, invoiceId: invoiceOf(route, form) };
      const delayMs = faults.takeDelay(call);
      const incident = faults.takeIncident(call) ?? incidentOfMethod(call, form);
      const early = failEarly(incident);
      if (early !== undefined) return early;

      const expand: Expand = expandAs(form, (id, field) => lookUp(store, id, field));
      const idempotencyKey = request.idempotencyKey ?? null;
      const execute = () =>
        parts.dispatch(route, form, { moment: { at: now(), requestId, idempotencyKey }, incident, expand });
      const { beforeMs, afterMs } = latency();
      const { status, body, replayed } = await idempotency.once(
        request.method === 'GET' ? undefined : request.idempotencyKey,
        `${request.path}?${request.body}`,
        { before: pause(delayMs + beforeMs), execute, executed: parts.changed, after: pause(afterMs) },
      );
      if (replayed) stats.countReplay();
      if (incident === 'timeout-after') return { kind: 'silence' };
      if (incident === 'reset-after') return { kind: 'reset' };
      const headers = replayed ? { ...responseHeaders, 'idempotent-replayed': 'true' } : responseHeaders;
      return { kind: 'answer', status, body, headers };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, headers } = error;
      const body = JSON.stringify({ error: error.error });
      return { kind: 'answer', status, body, headers: { ...responseHeaders, ...headers } };
    }
  };

  function invoiceOf({ operation, id }: Route, form: Form): string | undefined {
    if (operation === 'create') return form.get('metadata[invoiceId]');
    const intentId =
      operation === 'refund'
        ? (form.get('payment_intent') ?? store.charges.get(form.get('charge') ?? '')?.payment_intent ?? '')
        : id;
    return intentId === '' ? undefined : store.intents.get(intentId)?.metadata.invoiceId;
  }

  /** Failing payment methods fail the first calls for an invoice. Replayed calls count. */
  function incidentOfMethod(
    { operation, invoiceId = '' }: { operation: Operation; invoiceId: string | undefined },
    form: Form,
  ): Incident | undefined {
    if (operation !== 'create' && operation !== 'confirm') return undefined;
    const name = form.get('payment_method') ?? '';
    const charged = testMethod(name)?.charged;
    if (charged?.kind !== 'fails') return undefined;
    return store.tries.count(invoiceId, name) <= failing[charged.calls] ? charged.fault : undefined;
  }
}

/** Incidents that strike before the call executes. The idempotency key keeps nothing. @throws {Refusal} */
function failEarly(incident: Incident | undefined): Answer | undefined {
  switch (incident) {
    case 'timeout-before':
      return { kind: 'silence' };
    case 'reset-before':
      return { kind: 'reset' };
    case '500':
      throw new Refusal(500, { type: 'api_error', message: 'An unknown error occurred.' });
    case '400':
      throw invalid(undefined, 'The request is not valid.');
    case '429':
      throw rateLimited({ 'retry-after': '1' });
    case '500-after':
    case 'decline':
    case 'refund-fails':
    case 'reset-after':
    case 'timeout-after':
    case undefined:
      return undefined;
  }
}

function unauthorized(given: string | undefined): Refusal {
  const message = given === undefined ? 'You did not provide an API key.' : 'Invalid API Key provided.';
  return new Refusal(401, { type: 'invalid_request_error', message });
}
