/** The `error` object of Stripe's answers (https://docs.stripe.com/api/errors). */
export interface ErrorBody {
  type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  code?: string;
  decline_code?: string;
  message: string;
  param?: string;
  /** For a card error, or an intent in the wrong state: the intent. */
  payment_intent?: unknown;
}

/** Refuses a call before it executes. Its idempotency key keeps nothing. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly error: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: ErrorBody, headers: Readonly<Record<string, string>> = {}) {
    super(error.message);
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}

export function invalid(param: string | undefined, message: string, code?: string): Refusal {
  return new Refusal(400, {
    type: 'invalid_request_error',
    ...(code === undefined ? {} : { code }),
    message,
    ...(param === undefined ? {} : { param }),
  });
}

/** 404. `kind` is a Stripe object's name: `payment_intent`. */
export function notFound(kind: string, id: string, param = 'id'): Refusal {
  return new Refusal(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${kind}: '${id}'`,
    param,
  });
}

/**
 * Customers are known under any id, so that a test needs not create them, but for ids that begin with `cus_missing`
 * or `cus_deleted`.
 *
 * @throws {Refusal} as Stripe refuses a parameter that names what it does not have
 */
export function checkKnown(customer: string): void {
  if (!/^cus_(missing|deleted)/.test(customer)) return;
  throw new Refusal(400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such customer: '${customer}'`,
    param: 'customer',
  });
}

export function rateLimited(headers: Readonly<Record<string, string>>): Refusal {
  return new Refusal(
    429,
    { type: 'invalid_request_error', code: 'rate_limit', message: 'Request rate limit exceeded.' },
    headers,
  );
}

/** For features of Stripe that this server lacks. */
export function unsupported(what: string): Refusal {
  return new Refusal(501, {
    type: 'api_error',
    message: `The local payments server does not support ${what}.`,
  });
}
