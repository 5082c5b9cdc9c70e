import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { inSpan, parseTraceparent, traceProperties } from '../../packages/jobs/src/tracing.ts';
import { createExecutePayments } from '../../src/paying/executePayments.ts';
import { anInstance } from '../support/anInstance.ts';
import { hastyClock, type PayingWorld, payingWorld } from '../support/payingWorld.ts';
import { recordSpans } from '../support/recordedSpans.ts';

let world: PayingWorld;
let recording: Awaited<ReturnType<typeof recordSpans>> | undefined;
beforeAll(async () => {
  world = await payingWorld();
});
afterEach(() => recording?.finish());
afterAll(() => world[Symbol.asyncDispose]());

/** A run claims what is due in a shard, and the consumer gets the message as Service Bus carries it. */
async function claimAndPay(shard: string) {
  const { message } = await inSpan('run group', {}, () => world.claimDue(shard));
  if (message === undefined) throw new Error('nothing was claimed');
  const { parts, policy, handedOn } = world.consumer();
  const messages = {
    deadLetter: async () => {},
    renew: async () => ({ kind: 'renewed', until: 0 }) as const,
    sendAgain: async () => {},
  };
  const instance = anInstance({ clock: hastyClock });
  const consume = createExecutePayments({ ...parts, messages, instance }, policy);
  const applicationProperties = traceProperties(message.traceparent);
  await consume({ message: message.body, delivery: { applicationProperties } });
  return { message, handedOn };
}

test('a retry by a later run has a trace of its own', async () => {
  recording = await recordSpans();
  const { shard, ids } = await world.dueInvoices(1, { paymentMethod: 'pm_card_chargeDeclined' });
  const first = await claimAndPay(shard);
  await world.makeDue(shard, ids);
  const second = await claimAndPay(shard);
  await world.makeDue(shard, ids);
  const third = await claimAndPay(shard);

  const spans = await recording.finish();
  const claims = [first, second, third].map(({ message }) => parseTraceparent(message.traceparent)?.traceId);
  expect(new Set(claims).size).toBe(3);
  const payments = spans.filter(({ name }) => name === 'pay invoice');
  expect(payments.map(({ traceId }) => traceId)).toEqual(claims);
  expect(payments.map(({ failed }) => failed)).toEqual(Array(3).fill('retry:declined'));
});

test('what follows a settlement is ordered in the trace of its batch', async () => {
  recording = await recordSpans();
  const { shard } = await world.dueInvoices(2);
  const { message, handedOn } = await claimAndPay(shard);
  const spans = await recording.finish();
  const settlements = spans.filter(({ name }) => name === 'settle batch');
  expect(handedOn.map(({ traceparent }) => parseTraceparent(traceparent))).toEqual(
    settlements.map(({ traceId, spanId }) => ({ traceId, spanId, sampled: true })),
  );
  const traces = new Set(settlements.map(({ traceId }) => traceId));
  expect(traces).toEqual(new Set([parseTraceparent(message.traceparent)?.traceId]));
});

test('no attribute names a customer, an amount or a card', async () => {
  recording = await recordSpans();
  const { shard } = await world.dueInvoices(2, { customerId: 'cus_secret', description: 'private' });
  await claimAndPay(shard);
  const text = JSON.stringify((await recording.finish()).map(({ attributes }) => attributes));
  expect(text).toContain('invoice.id');
  expect(text).not.toMatch(/cus_secret|private|pm_card|100[01]\b/);
});
