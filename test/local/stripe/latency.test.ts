import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { createLatency } from '../../../local/stripe/latency.ts';
import { seededRandom } from '../../support/seededRandom.ts';
import { charge, chargesOf, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const latencyMs = 400;
/** The first two draws of a call give the median, the third puts the work at a quarter of it. */
const draws = [0, 0, 0.25];
const workMs = latencyMs / 4;
let drawn = 0;
const { payments, clock, stripe } = await paymentsForFile({
  latencyMs,
  rate: 100,
  random: () => draws[drawn++ % draws.length] ?? 0,
});

/** Starts a charge and waits until it is in progress. */
async function started(invoiceId: string, options: Stripe.RequestOptions = {}) {
  const call = stripe.paymentIntents.create(charge({ invoiceId }), { idempotencyKey: invoiceId, ...options });
  call.catch(() => {});
  await expect.poll(() => clock.sleepers()).toBe(1);
  return { call };
}

const inProgress = () => clock.sleepers() === 1;

test('the charge happens within the latency, the answer comes at its end', async () => {
  const invoiceId = newInvoiceId();
  const { call } = await started(invoiceId);
  await clock.advance(workMs - 1);
  expect(await chargesOf(payments, invoiceId)).toEqual([]);
  await clock.advance(1);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  await clock.advance(latencyMs - workMs - 1);
  expect(inProgress()).toBe(true);
  await clock.advance(1);
  expect((await call).status).toBe('succeeded');
});

test('until the answer, a second call with the key gets 409 at once; then a replay takes its time too', async () => {
  const invoiceId = newInvoiceId();
  const { call } = await started(invoiceId);
  const again = () =>
    refusalOf(stripe.paymentIntents.create(charge({ invoiceId }), { idempotencyKey: invoiceId }));
  expect(await again()).toMatchObject({ statusCode: 409 });
  await clock.advance(workMs);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  expect(await again()).toMatchObject({ statusCode: 409 });
  await clock.advance(latencyMs - workMs);
  const { id } = await call;

  const replay = await started(invoiceId);
  await clock.advance(latencyMs - 1);
  expect(inProgress()).toBe(true);
  await clock.advance(1);
  expect((await replay.call).id).toBe(id);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
});

test.each([
  { passedMs: 0, charges: 0, when: 'before the work: it charges later' },
  { passedMs: workMs, charges: 1, when: 'after the work: it has charged' },
])('a client that times out $when', async ({ passedMs, charges }) => {
  const invoiceId = newInvoiceId();
  const { call } = await started(invoiceId, { timeout: 150 });
  await clock.advance(passedMs);
  await expect(call).rejects.toBeInstanceOf(Stripe.errors.StripeConnectionError);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(charges);
  await clock.advance(latencyMs);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
});

test('searches take time too', async () => {
  const call = stripe.paymentIntents.search({ query: 'amount:1' });
  await expect.poll(() => clock.sleepers()).toBe(1);
  await clock.advance(latencyMs);
  expect((await call).data).toEqual([]);
});

describe('the distribution', () => {
  const count = 20_000;
  const seeded = () => {
    const source = seededRandom(7);
    return createLatency(300, () => source.next());
  };
  const latency = seeded();
  const calls = Array.from({ length: count }, () => {
    const { beforeMs, afterMs } = latency();
    return { callMs: beforeMs + afterMs, share: beforeMs / (beforeMs + afterMs) };
  });
  const times = calls.map(({ callMs }) => callMs).toSorted((a, b) => a - b);
  const quantile = (share: number) => times[Math.floor(count * share)] ?? Number.NaN;

  test('has the median asked for and a modest spread', () => {
    expect(quantile(0.5) / 300).toBeCloseTo(1, 1);
    expect(quantile(0.05) / 300).toBeCloseTo(1 / 1.64, 1);
    expect(quantile(0.95) / 300).toBeCloseTo(1.64, 1);
    expect(times.every((ms) => ms > 0 && ms < 300 * 5)).toBe(true);
  });

  test('puts the work anywhere in the call, evenly', () => {
    const within = (from: number, until: number) =>
      calls.filter(({ share }) => share >= from && share < until).length / count;
    for (const from of [0, 0.25, 0.5, 0.75]) expect(within(from, from + 0.25)).toBeCloseTo(0.25, 1);
    expect(within(0, 1)).toBe(1);
  });

  test('repeats for the same seed', () => {
    const { beforeMs, afterMs } = seeded()();
    expect(beforeMs + afterMs).toBe(calls[0]?.callMs);
  });

  test('a median of 0 takes no time and draws nothing', () => {
    const none = createLatency(0, () => {
      throw new Error('drawn');
    });
    expect(none()).toEqual({ beforeMs: 0, afterMs: 0 });
  });
});
