import { describe, expect, test } from 'vitest';
import { circuitBreaker, openMs } from '../../src/paying/pacedProvider.ts';
import type { ChargeOutcome, FoundPayment, RateLimited } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualClock } from '../support/virtualClock.ts';

const charged: ChargeOutcome = { kind: 'succeeded', paymentId: 'pi_1' };
const notFound: FoundPayment = { kind: 'notFound' };
const timeOut = { kind: 'unknown', message: 'no answer' } as const;
const blocked = {
  kind: 'blocked',
  message: 'calls are blocked, since the provider fails broadly',
  retryAfterMs: openMs,
};

/** A provider behind a breaker. Tests change its answers and their timing; `calls` counts the calls that got through. */
function guarded(answers: { charge?: ChargeOutcome | RateLimited; find?: FoundPayment } = {}) {
  const telemetry = recordedTelemetry();
  const clock = virtualClock();
  const wall = { stepMs: 0 };
  const calls = { charge: 0, find: 0 };
  const given: { charge: ChargeOutcome | RateLimited; find: FoundPayment; ready: Promise<void> } = {
    charge: charged,
    find: notFound,
    ready: Promise.resolve(),
    ...answers,
  };
  const stepped = { ...clock, now: () => clock.now() + wall.stepMs };
  const breaker = circuitBreaker({ clock: stepped, telemetry, log() {} });
  const provider = {
    charge: () =>
      breaker(async () => {
        calls.charge++;
        await given.ready;
        return given.charge;
      }),
    find: () =>
      breaker(async () => {
        calls.find++;
        await given.ready;
        return given.find;
      }),
  };
  const call = (kind: 'charge' | 'find') => provider[kind]();
  return { call, calls, given, telemetry, clock, wall };
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
  { kind: 'transient', code: 'authentication', message: 'the key is refused' },
  { kind: 'unknown', message: '500' },
])('a provider that fails broadly is left alone: $kind', async (charge) => {
  const { call, calls, telemetry } = guarded({ charge });
  expect(await callTimes(50, () => call('charge'))).toMatchObject(blocked);
  expect(calls.charge).toBeLessThan(50);
  expect(telemetry.values(metric.paymentBreakerOpen)).toEqual([1]);
});

test('failed look-ups count too, and hold charges back', async () => {
  const { call, calls } = guarded({ find: timeOut });
  expect(await callTimes(50, () => call('find'))).toEqual(blocked);
  expect(calls.find).toBeLessThan(50);
  expect(await call('charge')).toMatchObject(blocked);
  expect(calls.charge).toBe(0);
});

test('while the breaker is open, look-ups make no call and say why', async () => {
  const { call, since } = await opened();
  expect(await call('find')).toEqual(blocked);
  expect(since()).toEqual({ charge: 0, find: 0 });
});

test.each<ChargeOutcome | RateLimited>([
  charged,
  { kind: 'rateLimited', overRate: true, message: 'slow down' },
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
  { kind: 'differs', paymentId: 'pi_1', message: 'pi_1 over 1 usd' },
  { kind: 'unknown', message: '400', answered: true },
])('a look-up that gets an answer, even "not found", does not open the circuit: $kind', async (answer) => {
  const { call, calls } = guarded({ find: answer });
  expect(await callTimes(50, () => call('find'))).toEqual(answer);
  expect(calls.find).toBe(50);
});

test.each(['charge', 'find'] as const)(
  'when the open time is over, one %s goes through as a trial and holds the others back until it is answered',
  async (kind) => {
    const { call, given, since, clock } = await opened();
    const answer = Promise.withResolvers<void>();
    Object.assign(given, { charge: charged, find: notFound, ready: answer.promise });
    await clock.advance(openMs);
    const trial = call(kind);
    expect(await call('charge')).toMatchObject(blocked);
    expect(await call('find')).toEqual(blocked);
    expect(since()).toEqual({ charge: 0, find: 0, [kind]: 1 });
    answer.resolve();
    expect(await trial).toEqual(kind === 'charge' ? charged : notFound);
    expect(await call('charge')).toEqual(charged);
    expect(await call('find')).toEqual(notFound);
  },
);

test.each(['charge', 'find'] as const)('a trial %s that fails opens it again', async (kind) => {
  const { call, given, since, clock } = await opened();
  await clock.advance(openMs);
  expect(await call(kind)).toEqual({ ...timeOut, outage: true });
  Object.assign(given, { charge: charged, find: notFound });
  expect(await call('charge')).toMatchObject(blocked);
  expect(await call('find')).toEqual(blocked);
  expect(since()).toEqual({ charge: 0, find: 0, [kind]: 1 });
});

test.each([-3_600_000, 3_600_000])(
  'a wall clock that is set by %i ms in an outage neither holds calls back for longer nor lets them through',
  async (stepMs) => {
    const { call, given, since, clock, wall } = await opened();
    wall.stepMs = stepMs;
    given.charge = charged;
    await clock.advance(openMs - 1);
    expect(await call('charge')).toEqual(blocked);
    await clock.advance(1);
    expect(await call('charge')).toEqual(charged);
    expect(since()).toEqual({ charge: 1, find: 0 });
  },
);

test('a trial that ends in an exception opens it again', async () => {
  const { call, given, clock } = await opened();
  await clock.advance(openMs);
  given.ready = Promise.reject(new Error('a defect'));
  await expect(call('charge')).rejects.toThrow('a defect');
  expect(await call('charge')).toEqual(blocked);
  Object.assign(given, { charge: charged, ready: Promise.resolve() });
  await clock.advance(openMs);
  expect(await call('charge')).toEqual(charged);
});

/** Makes one call a second and says after how many seconds of failing the circuit opened. */
async function opensAfter(world: ReturnType<typeof guarded>, everyMs: number): Promise<number> {
  const { call, clock, telemetry } = world;
  for (let elapsed = 0; elapsed <= 60_000; elapsed += everyMs) {
    void call('charge');
    await clock.advance(0);
    for (let waited = 0; waited < everyMs; waited += 100) {
      if (telemetry.values(metric.paymentBreakerOpen).length > 0) return (elapsed + waited) / 1000;
      await clock.advance(100);
    }
  }
  throw new Error('it never opened');
}

const unreachable: ChargeOutcome = { kind: 'transient', code: 'ECONNREFUSED', message: 'refused' };
const badKey: ChargeOutcome = { kind: 'transient', code: 'authentication', message: 'refused' };

describe.each([10, 40, 200, 1_000, 4_000])('with a call every %i ms', (everyMs) => {
  test.each([
    ['is unreachable', unreachable],
    ['refuses the key', badKey],
    ['answers 500', timeOut],
  ])('it opens within 10 s after a provider that answered %s', async (_, failure) => {
    const world = guarded();
    for (let elapsed = 0; elapsed < 20_000; elapsed += everyMs) {
      await world.call('charge');
      await world.clock.advance(everyMs);
    }
    world.given.charge = failure;
    expect(await opensAfter(world, everyMs)).toBeLessThanOrEqual(10);
  });
});

test.each<[string, ChargeOutcome]>([
  ['keyRejected', { ...badKey, fault: 'keyRejected' }],
  ['badAnswer', { ...timeOut, fault: 'badAnswer' }],
  ['providerDown', unreachable],
  ['providerDown', timeOut],
])('it says why it opened: %s', async (reason, failure) => {
  const { call, given, telemetry } = guarded();
  await call('charge');
  given.charge = failure;
  await callTimes(50, () => call('charge'));
  const opened = telemetry.reports.filter(({ name }) => name === metric.paymentBreakerOpen);
  expect(opened).toEqual([{ name: metric.paymentBreakerOpen, value: 1, attributes: { reason } }]);
});

test('an unknown outcome says that it is an outage, if the provider has failed before and not answered since', async () => {
  const { call, given, clock } = guarded({ charge: timeOut });
  expect(await call('charge')).toEqual(timeOut);
  await clock.advance(30_000);
  expect(await call('charge')).toEqual({ ...timeOut, outage: true });
  given.charge = charged;
  expect(await call('charge')).toEqual(charged);
  given.charge = timeOut;
  expect(await call('charge')).toEqual(timeOut);
});

test('a remembered failure is about its payment, whatever else fails', async () => {
  const remembered: ChargeOutcome = { kind: 'unknown', message: '500', remembered: true };
  const { call, given, clock } = guarded({ charge: unreachable });
  await call('charge');
  given.charge = remembered;
  expect(await call('find')).toMatchObject({ kind: 'blocked' });
  await clock.advance(openMs);
  expect(await call('charge')).toEqual(remembered);
});

test('one call in a while is enough if the provider refuses the key', async () => {
  const world = guarded({ charge: badKey });
  expect(await opensAfter(world, 30_000)).toBe(0);
});

test('one call in a while that times out is not', async () => {
  const world = guarded({ charge: timeOut });
  for (let n = 0; n < 5; n++) {
    expect(await world.call('charge')).toMatchObject(timeOut);
    await world.clock.advance(30_000);
  }
});

test('a provider that gets slow is still used: its answers are what counts', async () => {
  const world = guarded();
  for (let n = 0; n < 20; n++) {
    await world.call('charge');
    await world.clock.advance(500);
  }
  const slow = () => world.clock.sleep(6_000);
  for (let elapsed = 0; elapsed < 60_000; elapsed += 500) {
    world.given.ready = slow();
    void world.call('charge');
    await world.clock.advance(500);
  }
  expect(world.calls.charge).toBe(140);
});
