import { randomBytes } from 'node:crypto';
import type { Faults } from './faults.ts';
import { type Behaviour, type CallFault, paymentMethods } from './paymentMethods.ts';
import type { Intent, Store } from './store.ts';

/** An answer of the API, or what happens instead of one. */
export type Answer =
  | { kind: 'json'; status: number; body: string; headers?: Record<string, string> }
  /** No answer ever: the caller's time-out ends it. */
  | { kind: 'silence' }
  | { kind: 'reset' };

export interface Call {
  method: string;
  path: string;
  form: URLSearchParams;
  query: URLSearchParams;
  idempotencyKey: string | undefined;
}

export interface ApiOptions {
  store: Store;
  faults: Faults;
  /** Milliseconds. */
  now: () => number;
  /** How long a new payment stays out of the search, in milliseconds. */
  searchLagMs: number;
}

/** The part of Stripe's API that the adapter uses. What is not here answers 501 with its name. */
export function createApi({ store, faults, now, searchLagMs }: ApiOptions) {
  return (call: Call): Answer => {
    const { method, path, query } = call;
    if (method === 'GET' && path === '/v1/payment_intents/search') return search(query);
    if (path === '/v1/payment_intents' && method === 'POST') return withKey(call, () => create(call));
    const one = /^\/v1\/payment_intents\/([^/]+)$/.exec(path)?.[1];
    if (one !== undefined && method === 'GET') return retrieve(one);
    const confirmed = /^\/v1\/payment_intents\/([^/]+)\/confirm$/.exec(path)?.[1];
    if (confirmed !== undefined && method === 'POST') return withKey(call, () => confirm(confirmed, call));
    return error(501, 'api_error', { message: `the local payments do not do ${method} ${path}` });
  };

  /** The rules of idempotency keys (https://docs.stripe.com/api/idempotent_requests). */
  function withKey(
    { form, path, idempotencyKey }: Call,
    run: () => { answer: Answer; begun: boolean },
  ): Answer {
    if (idempotencyKey === undefined) return run().answer;
    const parameters = `${path}?${form}`;
    const kept = store.kept(idempotencyKey, now());
    if (kept !== undefined) {
      if (kept.parameters !== parameters) {
        return error(400, 'idempotency_error', {
          message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${idempotencyKey}' if you meant to execute a different request.`,
        });
      }
      const { status, body } = kept;
      return { kind: 'json', status, body, headers: { 'idempotent-replayed': 'true' } };
    }
    const { answer, begun } = run();
    if (begun) {
      const { status, body } = results.get(answer) ?? (answer as { status: number; body: string });
      store.keep(idempotencyKey, { parameters, status, body }, now());
    }
    return answer;
  }

  function create(call: Call): { answer: Answer; begun: boolean } {
    const { form } = call;
    const amount = Number(form.get('amount'));
    const currency = form.get('currency') ?? '';
    if (!Number.isSafeInteger(amount) || amount <= 0 || !/^[a-z]{3}$/.test(currency)) {
      const param = /^[a-z]{3}$/.test(currency) ? 'amount' : 'currency';
      return { answer: invalid('parameter_invalid_integer', param, `Invalid ${param}`), begun: false };
    }
    const metadata: Record<string, string> = {};
    for (const [name, value] of form) {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      if (key !== undefined) metadata[key] = value;
    }
    const intent: Intent = {
      id: `pi_${randomBytes(12).toString('hex')}`,
      invoiceId: metadata.invoiceId ?? '',
      amount,
      currency,
      status: 'requires_confirmation',
      metadata,
      createdAt: now(),
    };
    if (form.get('confirm') !== 'true') {
      store.putIntent(intent);
      return { answer: json(200, intentBody(intent)), begun: true };
    }
    return charge(intent, call);
  }

  function confirm(id: string, call: Call): { answer: Answer; begun: boolean } {
    const intent = store.intent(id);
    if (intent === undefined) return { answer: missing('payment_intent', id), begun: false };
    if (intent.status === 'succeeded') {
      return {
        answer: invalid('payment_intent_unexpected_state', 'id', 'it has succeeded already'),
        begun: false,
      };
    }
    return charge(intent, call);
  }

  function charge(intent: Intent, { form, idempotencyKey }: Call): { answer: Answer; begun: boolean } {
    const method = form.get('payment_method') ?? '';
    const behaviour = paymentMethods[method];
    if (behaviour === undefined) return { answer: missing('payment_method', method), begun: false };
    const nth = store.countCall(intent.invoiceId);
    const fault =
      faults.take({ invoiceId: intent.invoiceId, operation: 'charge' }) ?? faultOf(behaviour, nth);
    const early = fault === undefined ? undefined : beforeCharge[fault];
    if (early !== undefined) return { answer: early(), begun: false };
    if (fault === 'decline') {
      return {
        answer: declined(intent, {
          code: 'card_declined',
          declineCode: 'generic_decline',
          message: 'Your card was declined.',
        }),
        begun: true,
      };
    }
    switch (behaviour.kind) {
      case 'declines':
        return { answer: declined(intent, behaviour), begun: true };
      case 'requiresAction':
        return {
          answer: declined(intent, {
            code: 'authentication_required',
            declineCode: 'authentication_required',
            message: 'Your card was declined. This transaction requires authentication.',
          }),
          begun: true,
        };
      case 'succeeds':
      case 'fails': {
        const done = { ...intent, status: 'succeeded' };
        const { id, invoiceId, amount, currency, createdAt } = done;
        store.putIntent(done);
        store.addCharge({
          id: `ch_${id.slice(3)}`,
          invoiceId,
          amount,
          currency,
          idempotencyKey: idempotencyKey ?? null,
          status: 'succeeded',
          createdAt: new Date(createdAt).toISOString(),
        });
        return { answer: afterCharge(fault, json(200, intentBody(done))), begun: true };
      }
    }
  }

  /** The charge is made; now what becomes of the answer. */
  function afterCharge(fault: CallFault | 'decline' | undefined, success: Answer & { kind: 'json' }): Answer {
    if (fault === '500-after') return serverError();
    if (fault !== 'timeout-after' && fault !== 'reset-after') return success;
    const answer: Answer = { kind: fault === 'timeout-after' ? 'silence' : 'reset' };
    results.set(answer, success);
    return answer;
  }

  function declined(
    intent: Intent,
    { code, declineCode, message }: { code: string; declineCode: string; message: string },
  ): Answer {
    const failed = { ...intent, status: 'requires_payment_method' };
    store.putIntent(failed);
    return error(402, 'card_error', {
      code,
      decline_code: declineCode,
      message,
      payment_intent: intentBody(failed),
    });
  }

  function retrieve(id: string): Answer {
    const intent = store.intent(id);
    return intent === undefined ? missing('payment_intent', id) : json(200, intentBody(intent));
  }

  function search(query: URLSearchParams): Answer {
    const fault = faults.take({ invoiceId: '', operation: 'search' });
    if (fault !== undefined && fault !== 'decline') return beforeCharge[fault]?.() ?? serverError();
    const text = query.get('query') ?? '';
    const parsed = /^metadata\['invoiceId'\]:'((?:[^'\\]|\\.)*)'( AND status:'(\w+)')?$/.exec(text);
    if (parsed === null) {
      return error(501, 'api_error', { message: `the local payments do not search for ${text}` });
    }
    const invoiceId = (parsed[1] ?? '').replaceAll(/\\(.)/g, '$1');
    const status = parsed[3];
    const found = store.search(invoiceId, now() - searchLagMs);
    const data = found.filter((intent) => status === undefined || intent.status === status).map(intentBody);
    return json(200, { object: 'search_result', url: '/v1/payment_intents/search', has_more: false, data });
  }
}

/** What a key remembers where the caller gets no answer. */
const results = new WeakMap<Answer, { status: number; body: string }>();

const beforeCharge: Partial<Record<CallFault | 'decline', () => Answer>> = {
  'timeout-before': () => ({ kind: 'silence' }),
  'reset-before': () => ({ kind: 'reset' }),
  '500': serverError,
  '429': () => ({
    ...error(429, 'invalid_request_error', { code: 'rate_limit', message: 'Too many requests' }),
    headers: { 'retry-after': '1' },
  }),
};

function faultOf(behaviour: Behaviour, nth: number): CallFault | undefined {
  if (behaviour.kind !== 'fails') return undefined;
  return behaviour.calls === 'all' || nth === 1 ? behaviour.fault : undefined;
}

function intentBody({ id, amount, currency, status, metadata, createdAt }: Intent) {
  const created = Math.floor(createdAt / 1000);
  return { id, object: 'payment_intent', amount, currency, status, metadata, created, livemode: false };
}

function json(status: number, body: unknown): Answer & { kind: 'json' } {
  return { kind: 'json', status, body: JSON.stringify(body) };
}

function error(status: number, type: string, rest: Record<string, unknown>): Answer & { kind: 'json' } {
  return json(status, { error: { type, ...rest } });
}

function serverError(): Answer & { kind: 'json' } {
  return error(500, 'api_error', { message: 'An unknown error occurred' });
}

function invalid(code: string, param: string, message: string): Answer {
  return error(400, 'invalid_request_error', { code, param, message });
}

function missing(param: string, id: string): Answer {
  return error(param === 'payment_intent' ? 404 : 400, 'invalid_request_error', {
    code: 'resource_missing',
    param,
    message: `No such ${param.replace('_', ' ')}: '${id}'`,
  });
}
