import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withCircuitBreaker } from '../../src/paying/circuitBreaker.ts';
import type { ChargeOutcome, ChargeRequest, FoundPayment } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/telemetry.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

const policy = { threshold: 0.5, windowMs: 1_000, minimumRps: 1, openMs: 60_000 };
const request: ChargeRequest = {
  invoiceId: 'inv-1',
  amountMinor: 1,
  currency: 'USD',
  customerId: 'cus-1',
  paymentMethod: 'pm_card_visa',
  idempotencyKey: 'invoice-inv-1-1',
};

const charged: ChargeOutcome = { kind: 'succeeded', paymentId: 'pi_1' };
const notFound: FoundPayment = { kind: 'notFound' };
const timeOut = { kind: 'unknown', message: 'no answer' } as const;
const heldBack = {
  charge: { kind: 'transient', code: 'circuit_open', retryAfterMs: 60_000 },
  find: { kind: 'unknown', message: 'calls are held back, since the provider fails broadly' },
};

// The breaker reads the time from `Date`.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

/** A provider behind a breaker. Tests change its answers and their timing; `calls` counts the calls that got through. */
function guarded(answers: { charge?: ChargeOutcome; find?: FoundPayment } = {}) {
  const telemetry = recordedTelemetry();
  const calls = { charge: 0, find: 0 };
  const given = { charge: charged, find: notFound, ready: Promise.resolve(), ...answers };
  const provider = withCircuitBreaker(
    {
      async charge() {
        calls.charge++;
        await given.ready;
        return given.charge;
      },
      async find() {
        calls.find++;
        await given.ready;
        return given.find;
      },
    },
    { telemetry, log() {} },
    policy,
  );
  const call = (kind: 'charge' | 'find') => provider[kind](request);
  return { call, calls, given, telemetry };
}

/** Calls `times` times in sequence and returns the last answer. */
async function callTimes(times: number, call: () => Promise<unknown>): Promise<unknown> {
  let last: unknown;
  for (let n = 0; n < times; n++) last = await call();
  return last;
}

/** A provider behind a breaker that timeouts have opened. */
async function opened() {
  const world = guarded({ charge: timeOut, find: timeOut });
  await callTimes(50, () => world.call('charge'));
  expect(world.calls.charge).toBeLessThan(50);
  const before = { ...world.calls };
  const since = () => ({ charge: world.calls.charge - before.charge, find: world.calls.find - before.find });
  return { ...world, since };
}

test.each<ChargeOutcome>([
  { kind: 'transient', code: 'rate_limit', message: 'slow down' },
  { kind: 'unknown', message: '500' },
])('a provider that fails broadly is left alone: $kind', async (charge) => {
  const { call, calls, telemetry } = guarded({ charge });
  expect(await callTimes(50, () => call('charge'))).toMatchObject(heldBack.charge);
  expect(calls.charge).toBeLessThan(50);
  expect(telemetry.values(metric.paymentBreakerOpen)).toEqual([1]);
});

test('failed look-ups count too, and hold charges back', async () => {
  const { call, calls } = guarded({ find: timeOut });
  expect(await callTimes(50, () => call('find'))).toEqual(heldBack.find);
  expect(calls.find).toBeLessThan(50);
  expect(await call('charge')).toMatchObject(heldBack.charge);
  expect(calls.charge).toBe(0);
});

test('while the breaker is open, look-ups make no call and say why', async () => {
  const { call, since } = await opened();
  expect(await call('find')).toEqual(heldBack.find);
  expect(since()).toEqual({ charge: 0, find: 0 });
});

test.each<ChargeOutcome>([
  charged,
  { kind: 'declined', severity: 'soft', code: 'insufficient_funds', message: 'no' },
  { kind: 'unknown', message: '500', remembered: true },
])('an answer, even a remembered one, does not open the circuit: $kind', async (answer) => {
  const { call, calls } = guarded({ charge: answer });
  expect(await callTimes(50, () => call('charge'))).toEqual(answer);
  expect(calls.charge).toBe(50);
});

test.each<FoundPayment>([
  { kind: 'found', paymentId: 'pi_1' },
  notFound,
  { kind: 'differs', message: 'pi_1 over 1 usd' },
])('a look-up that gets an answer, even "not found", does not open the circuit: $kind', async (answer) => {
  const { call, calls } = guarded({ find: answer });
  expect(await callTimes(50, () => call('find'))).toEqual(answer);
  expect(calls.find).toBe(50);
});

test.each(['charge', 'find'] as const)(
  'when the open time is over, one %s goes through as a trial and holds the others back until it is answered',
  async (kind) => {
    const { call, given, since } = await opened();
    const answer = Promise.withResolvers<void>();
    Object.assign(given, { charge: charged, find: notFound, ready: answer.promise });
    vi.setSystemTime(Date.now() + policy.openMs);
    const trial = call(kind);
    expect(await call('charge')).toMatchObject(heldBack.charge);
    expect(await call('find')).toEqual(heldBack.find);
    expect(since()).toEqual({ charge: 0, find: 0, [kind]: 1 });
    answer.resolve();
    expect(await trial).toEqual(kind === 'charge' ? charged : notFound);
    expect(await call('charge')).toEqual(charged);
    expect(await call('find')).toEqual(notFound);
  },
);

test.each(['charge', 'find'] as const)('a trial %s that fails opens it again', async (kind) => {
  const { call, given, since } = await opened();
  vi.setSystemTime(Date.now() + policy.openMs);
  expect(await call(kind)).toEqual(timeOut);
  Object.assign(given, { charge: charged, find: notFound });
  expect(await call('charge')).toMatchObject(heldBack.charge);
  expect(await call('find')).toEqual(heldBack.find);
  expect(since()).toEqual({ charge: 0, find: 0, [kind]: 1 });
});
