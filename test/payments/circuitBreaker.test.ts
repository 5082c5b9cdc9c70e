import { expect, test } from 'vitest';
import { withCircuitBreaker } from '../../src/payments/circuitBreaker.ts';
import type { ChargeOutcome, ChargeRequest } from '../../src/payments/provider.ts';
import { noTelemetry } from '../../src/platform/telemetry.ts';

const policy = { threshold: 0.5, windowMs: 1_000, minimumRps: 1, openMs: 60_000 };
const request: ChargeRequest = {
  invoiceId: 'inv-1',
  amountMinor: 1,
  currency: 'USD',
  customerId: 'cus-1',
  paymentMethod: 'pm_card_visa',
  idempotencyKey: 'invoice-inv-1-1',
};

/** Calls a provider that always answers the same so often; says how many of the calls it got, and the last outcome. */
async function callTimes(times: number, answer: ChargeOutcome) {
  let calls = 0;
  const provider = withCircuitBreaker(
    {
      async charge() {
        calls++;
        return answer;
      },
      find: async () => ({ kind: 'notFound' }),
    },
    { telemetry: noTelemetry, log() {}, policy },
  );
  let last: ChargeOutcome | undefined;
  for (let n = 0; n < times; n++) last = await provider.charge(request);
  return { calls, last };
}

test.each<ChargeOutcome>([
  { kind: 'transient', code: 'rate_limit', message: 'slow down' },
  { kind: 'unknown', message: '500' },
])('a provider that fails broadly is left alone: $kind', async (failure) => {
  const { calls, last } = await callTimes(50, failure);
  expect(calls).toBeLessThan(50);
  expect(last).toMatchObject({ kind: 'transient', code: 'circuit_open', retryAfterMs: 60_000 });
});

test.each<ChargeOutcome>([
  { kind: 'succeeded', paymentId: 'pi_1' },
  { kind: 'declined', severity: 'soft', code: 'insufficient_funds', message: 'no' },
  { kind: 'unknown', message: '500', remembered: true },
])('what is an answer, remembered ones too, does not open the circuit: $kind', async (answer) => {
  expect(await callTimes(50, answer)).toEqual({ calls: 50, last: answer });
});
