import type { Intent } from './intent.ts';
import type { Result } from './store/keys.ts';

export function ok(value: object): Result {
  return { status: 200, body: JSON.stringify(value) };
}

/** A failed payment, with its intent (https://docs.stripe.com/api/errors). */
export function cardError(intent: Intent): Result {
  return {
    status: 402,
    body: JSON.stringify({ error: { ...intent.last_payment_error, payment_intent: intent } }),
  };
}

export const serverError: Result = {
  status: 500,
  body: JSON.stringify({ error: { type: 'api_error', message: 'An unknown error occurred.' } }),
};
