import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { classifyError, silentAfter } from '../../src/stripe/stripeErrors.ts';

/** An error as the SDK builds it from an answer: status, error object, headers. */
function answered(statusCode: number, error: object, headers: Record<string, string> = {}) {
  return Stripe.errors.StripeError.generate({ message: 'words', statusCode, headers, ...error });
}

function connection(detail: object) {
  return new Stripe.errors.StripeConnectionError({ message: 'words', detail } as never);
}

const card = (more: object) => answered(402, { type: 'card_error', code: 'card_declined', ...more });
const message = 'words';
const declined = (severity: 'soft' | 'hard', code: string) => ({ kind: 'declined', severity, code, message });

describe('declines', () => {
  test.each([
    'insufficient_funds',
    'card_velocity_exceeded',
    'generic_decline',
    'do_not_honor',
    'call_issuer',
    'issuer_not_available',
    'processing_error',
    'reenter_transaction',
    'try_again_later',
    'withdrawal_count_limit_exceeded',
    'a_code_of_tomorrow',
  ])('%s is soft', (decline_code) => {
    expect(classifyError(card({ decline_code }))).toEqual(declined('soft', decline_code));
  });

  test.each([
    'authentication_required',
    'card_not_supported',
    'expired_card',
    'fraudulent',
    'incorrect_number',
    'lost_card',
    'pickup_card',
    'revocation_of_all_authorizations',
    'revocation_of_authorization',
    'stolen_card',
    'transaction_not_allowed',
  ])('%s is hard', (decline_code) => {
    expect(classifyError(card({ decline_code }))).toEqual(declined('hard', decline_code));
  });

  test('without a decline code the error code decides', () => {
    expect(classifyError(card({ code: 'expired_card' }))).toEqual(declined('hard', 'expired_card'));
    expect(classifyError(card({ code: 'processing_error' }))).toEqual(declined('soft', 'processing_error'));
    expect(classifyError(card({ code: undefined }))).toEqual(declined('soft', 'card_declined'));
  });

  test('the issuer’s advice can make a soft decline hard', () => {
    const decline_code = 'generic_decline';
    for (const [advice_code, severity] of [
      ['do_not_try_again', 'hard'],
      ['confirm_card_data', 'hard'],
      ['try_again_later', 'soft'],
    ] as const) {
      expect(classifyError(card({ decline_code, advice_code }))).toEqual(declined(severity, decline_code));
    }
  });
});

describe('definitely not charged: transient', () => {
  test.each([
    ['a wrong key', answered(401, {}), 'authentication'],
    ['a key without the right', answered(403, {}), 'authentication'],
    ['an account that may not charge', answered(400, { code: 'testmode_charges_only' }), 'authentication'],
    ['a refused connection', connection({ code: 'ECONNREFUSED', syscall: 'connect' }), 'ECONNREFUSED'],
    ['refused on every address', connection({ code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    ['a connection that timed out', connection({ code: 'ETIMEDOUT', syscall: 'connect' }), 'ETIMEDOUT'],
    ['a host out of reach', connection({ code: 'EHOSTUNREACH', syscall: 'connect' }), 'EHOSTUNREACH'],
    ['a name without address', connection({ code: 'ENOTFOUND', syscall: 'getaddrinfo' }), 'ENOTFOUND'],
    ['a bad certificate', connection({ code: 'CERT_HAS_EXPIRED' }), 'CERT_HAS_EXPIRED'],
  ])('%s', (_, error, code) => {
    expect(classifyError(error)).toMatchObject({ kind: 'transient', code });
  });

  test('a 429 costs only time: too many calls, or another one at work on the same object', () => {
    expect(classifyError(answered(429, { code: 'rate_limit' }))).toMatchObject({
      kind: 'rateLimited',
      overRate: true,
    });
    expect(classifyError(answered(429, { code: 'lock_timeout' }))).toMatchObject({
      kind: 'rateLimited',
      overRate: false,
    });
  });

  test('the wait Stripe asks for, in milliseconds', () => {
    const limit = (headers: Record<string, string>) => answered(429, { code: 'rate_limit' }, headers);
    expect(classifyError(limit({ 'retry-after': '7' }))).toMatchObject({ retryAfterMs: 7000 });
    expect(classifyError(limit({ 'retry-after': '31536000' }))).toMatchObject({ retryAfterMs: 600_000 });
    expect(classifyError(limit({ 'retry-after': 'soon' }))).not.toHaveProperty('retryAfterMs');
    expect(classifyError(limit({}))).not.toHaveProperty('retryAfterMs');
  });

  test('Stripe’s message about our secret key is not repeated', () => {
    const outcome = classifyError(answered(401, { message: 'Invalid API Key provided: sk_test_secret' }));
    expect(JSON.stringify(outcome)).not.toContain('secret_');
    expect(JSON.stringify(outcome)).not.toContain('sk_test');
  });
});

describe('what an error says about the provider itself', () => {
  test.each([
    ['a wrong key', answered(401, {}), { fault: 'keyRejected' }],
    ['a key without the right', answered(403, {}), { fault: 'keyRejected' }],
    ['an expired key', answered(400, { code: 'api_key_expired' }), { fault: 'keyRejected' }],
    ['a failure of its own', answered(503, {}), { fault: 'badAnswer' }],
    ['no answer', connection({ code: 'ECONNRESET', syscall: 'read' }), {}],
    ['no answer in time', answered(408, {}), {}],
    ['another call is in the way', answered(409, {}), {}],
    ['too many calls', answered(429, {}), {}],
    ['a refused request', answered(400, { code: 'parameter_missing' }), { answered: true }],
    ['another refused request', answered(404, {}), { answered: true }],
  ])('%s', (_, error, fault) => {
    const { fault: found } = { fault: undefined, ...classifyError(error) };
    expect(found).toBe('fault' in fault ? fault.fault : undefined);
    expect(silentAfter(error)).toEqual({ kind: 'unknown', message: expect.any(String), ...fault });
  });

  test('nothing of our secret key is repeated', () => {
    const silent = silentAfter(answered(401, { message: 'Invalid API Key provided: sk_test_secret' }));
    expect(silent.message).not.toContain('sk_test');
  });
});

describe('may have been charged: unknown', () => {
  test.each([
    ['the first call is in flight', answered(409, { code: 'idempotency_key_in_use' })],
    ['500', answered(500, {})],
    ['502', answered(502, {})],
    ['503', answered(503, {})],
    ['a time-out', connection({ code: 'ETIMEDOUT' })],
    ['a connection closed by the other side', connection({ code: 'CONNECTION_CLOSED' })],
    ['a reset', connection({ code: 'ECONNRESET', syscall: 'read' })],
    ['a host that went out of reach', connection({ code: 'EHOSTUNREACH', syscall: 'read' })],
    ['a network that went out of reach', connection({ code: 'ENETUNREACH', syscall: 'write' })],
    ['a network out of reach, nobody knows when', connection({ code: 'ENETUNREACH' })],
    ['a broken pipe', connection({ code: 'EPIPE', syscall: 'write' })],
    ['an answer that breaks off', connection({ exception: new Error('aborted') })],
    ['an answer that is not JSON', new Stripe.errors.StripeAPIError({ message: 'Invalid JSON' })],
    ['an error of an unknown kind', new Error('words')],
    ['no error at all', 'words'],
  ])('%s', (_, error) => {
    expect(classifyError(error).kind).toBe('unknown');
  });
});

test('a request that Stripe rejects is refused, for a person to see', () => {
  const unknownMethod = answered(400, { type: 'invalid_request_error', code: 'resource_missing' });
  expect(classifyError(unknownMethod)).toEqual({ kind: 'refused', code: 'resource_missing', message });
  expect(classifyError(answered(400, {}))).toEqual({ kind: 'refused', code: 'invalid_request', message });
  expect(classifyError(answered(404, {})).kind).toBe('refused');
});

test('a key sent with other parameters is `keyReused`', () => {
  expect(classifyError(answered(400, { type: 'idempotency_error' }))).toEqual({ kind: 'keyReused', message });
});
