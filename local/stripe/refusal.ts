/** The `error` object of Stripe's answers (https://docs.stripe.com/api/errors). */
export interface ErrorBody {
  type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  code?: string;
  decline_code?: string;
  message: string;
  param?: string;
  /** The intent that a card error is about. */
  payment_intent?: unknown;
}

/** A call that ends before it was carried out; its idempotency key remembers nothing of it. */
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

/** Something that Stripe has and this server has not. */
export function notHere(what: string): Refusal {
  return new Refusal(501, { type: 'api_error', message: `The local payments do not have ${what}.` });
}
