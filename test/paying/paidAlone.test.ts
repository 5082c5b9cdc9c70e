/**
 * An invoice whose calls ended without a known outcome is paid alone, until the provider says what became of its payment. Here
 * each way in which such a try can end is followed by the next claim.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { retried } from '../../src/after/retryInvoice.ts';
import { decideVoid } from '../../src/after/voidInvoice.ts';
import { decideClaim } from '../../src/claiming/claimBatch.ts';
import { type Invoice, maxAttempts } from '../../src/invoice/invoice.ts';
import {
  BatchUnfinished,
  createPayBatch,
  firstParts,
  partsToRepeat,
  startPart,
} from '../../src/paying/payBatch.ts';
import { type PaymentBatch, paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { ChargeOutcome, NotCalled } from '../../src/paying/paymentProvider.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { minute, type PayingWorld, payingWorld, watchedProvider } from '../support/payingWorld.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** The attempt on which each of these invoices is paid alone. */
const attempt = 3;
const past = '2026-01-01T00:00:00.000Z';

/** An invoice whose calls have ended twice without an outcome, claimed again. */
async function suspect(): Promise<{
  batch: PaymentBatch;
  read: () => Promise<Invoice>;
  shard: string;
  id: string;
}> {
  const { claim } = aClaimedInvoice({ attempts: attempt - 1 });
  if (claim === undefined) throw new Error('it is claimed');
  const changes = { status: 'claimed' as const, attempts: attempt - 1, claim, actionableAt: past };
  const { shard, ids } = await world.dueInvoices(1, changes);
  const [id = ''] = ids;
  const { message } = await world.claimDue(shard);
  const batch = paymentBatchSchema.parse(message?.body);
  expect(batch).toMatchObject({ commands: [{ attempt }] });
  expect(firstParts(batch)).toMatchObject([{ alone: true }]);
  const read = async () => {
    const [invoice] = await world.stored(shard, ids);
    if (invoice === undefined) throw new Error(`there is no ${id}`);
    return invoice;
  };
  return { batch, read, shard, id };
}

/** Decides what a run does with it once it is due, or its claim stale. */
function next(invoice: Invoice) {
  return decideClaim(invoice, '2036-01-01T00:00:00.000Z');
}

const message = 'a test';

describe('it ends with a word of the provider about the payment', () => {
  test.each<[string, ChargeOutcome, Partial<Invoice>]>([
    ['paid', { kind: 'succeeded', paymentId: 'pi_1' }, { status: 'paid' }],
    ['in progress', { kind: 'processing', paymentId: 'pi_2', state: 'processing' }, { status: 'processing' }],
    [
      'declined for good',
      { kind: 'declined', severity: 'hard', code: 'lost_card', message },
      { status: 'declined' },
    ],
    [
      'declined for now',
      { kind: 'declined', severity: 'soft', code: 'insufficient_funds', message },
      { status: 'pending', attempts: 0 },
    ],
    ['refused, so it is parked', { kind: 'refused', code: 'bad_request', message }, { status: 'parked' }],
  ])('%s', async (_, outcome, expected) => {
    const { batch, read } = await suspect();
    const { provider } = watchedProvider(world.provider, { charge: async () => outcome });
    await world.consumer({ provider }).pay(batch);
    const invoice = await read();
    expect(invoice).toMatchObject(expected);
    expect(invoice.claim).toBeUndefined();
    if (invoice.status !== 'parked') expect(invoice.payment).not.toHaveProperty('unknownSince');
    if (invoice.status === 'pending') expect(next(invoice)).toEqual({ kind: 'claim', attempt: 1 });
  });
});

describe('it goes on after a try that has proved nothing', () => {
  test.each<[string, ChargeOutcome | NotCalled, number]>([
    [
      'the provider was away: goes on, as the same attempt',
      { kind: 'transient', code: '503', message },
      attempt,
    ],
    ['calls were blocked, so none was made', { kind: 'blocked', message, retryAfterMs: 1_000 }, attempt],
    ['no answer while the provider fails at everything', { kind: 'unknown', message, outage: true }, attempt],
    ['no answer: one attempt more', { kind: 'unknown', message }, attempt + 1],
  ])('%s', async (_, outcome, expected) => {
    const { batch, read, shard, id } = await suspect();
    const { provider } = watchedProvider(world.provider, {
      charge: async () => outcome as ChargeOutcome,
    });
    await world.consumer({ provider }).pay(batch);
    const waiting = await read();
    expect(waiting).toMatchObject({ status: 'pending', attempts: expected - 1 });
    expect(next(waiting)).toEqual({ kind: 'claim', attempt: expected });
    await world.makeDue(shard, [id]);
    const { message: order } = await world.claimDue(shard);
    const again = paymentBatchSchema.parse(order?.body);
    expect(again).toMatchObject({ commands: [{ attempt: expected }] });
    expect(firstParts(again)).toMatchObject([{ alone: true }]);
    expect((await world.consumer().pay(again)).settled.paid).toBe(1);
  });

  test('its turn did not come, or it was delayed by the rate limit: the claim goes stale, the attempt stays', async () => {
    for (const refuse of ['admission', 'turn'] as const) {
      const { batch, read } = await suspect();
      const { parts, policy } = world.consumer();
      const put = { kind: 'notCalled' } as const;
      const within: typeof parts.provider.within = (limits) => ({
        ...parts.provider.within(limits),
        charge: async () => put,
      });
      const provider =
        refuse === 'admission'
          ? { ...parts.provider, admit: async () => undefined }
          : { ...parts.provider, within };
      expect((await createPayBatch({ ...parts, provider }, policy)(batch)).left).toBe(1);
      const invoice = await read();
      expect(invoice).toMatchObject({ status: 'claimed', claim: { phase: 'claimed' } });
      expect(next(invoice)).toMatchObject({ kind: 'reclaim', attempt });
      expect(invoice.payment.unknownSince).toBeDefined();
    }
  });

  test('returned because the host stops: the message comes again, and it is paid as the same attempt', async () => {
    const { batch, read } = await suspect();
    let looks = 0;
    // The permission goes after the start.
    const { pay } = world.consumer();
    await expect(pay(batch, () => looks++ < 2)).rejects.toThrow(BatchUnfinished);
    const invoice = await read();
    expect(invoice).toMatchObject({
      status: 'claimed',
      claim: { phase: 'claimed', attempt },
    });
    expect(next(invoice)).toMatchObject({ attempt });
    expect((await world.consumer().pay(batch)).settled.paid).toBe(1);
  });

  test('the process crashes again: one attempt more, and parked after the last', async () => {
    const { batch, read, shard } = await suspect();
    let order: PaymentBatch = batch;
    for (let now = attempt; now <= maxAttempts; now++) {
      const part = { commands: order.commands, earlier: new Map(), alone: true };
      await startPart(world.invoices, order, part, { claimStaleMs: -60 * minute, by: 'host-dead' });
      const invoice = await read();
      expect(invoice).toMatchObject({ attempts: now, claim: { phase: 'calling' } });
      const last = now === maxAttempts;
      expect(next(invoice)).toMatchObject(last ? { kind: 'park' } : { kind: 'reclaim', attempt: now + 1 });
      const { message: claimed } = await world.claimDue(shard);
      if (!last) order = paymentBatchSchema.parse(claimed?.body);
    }
    expect(await read()).toMatchObject({
      status: 'parked',
      reason: expect.stringContaining('the last one alone'),
    });
  });

  test('nothing takes it away meanwhile: a claimed invoice is not voided, and a retry of the parked one starts over', async () => {
    const { read } = await suspect();
    expect(decideVoid(await read())).toEqual({ kind: 'refuse', status: 'claimed' });
    const parked: Invoice = { ...(await read()), status: 'parked', attempts: maxAttempts };
    const { claim: _, ...rest } = {
      ...parked,
      ...retried(parked, parked.payment, { actor: 'ada', at: past }).set,
    };
    expect(next(rest)).toEqual({ kind: 'claim', attempt: 1 });
  });
});

describe('parts of a batch', () => {
  const commands = async () => {
    const { batch } = await world.claimedBatch(4);
    const [first, second, third, fourth] = batch.commands;
    if (!first || !second || !third || !fourth) throw new Error('four were claimed');
    return [first, second, third, fourth] as const;
  };

  test('fresh ones together, then those that were called before, one by one, least tried first', async () => {
    const [a, b, c, d] = await commands();
    const called = (command: typeof a, attempts: number) => ({
      ...command,
      attempt: attempts,
      payment: { ...command.payment, unknownSince: past },
    });
    const parts = firstParts({ commands: [called(a, 3), b, called(c, 2), d] });
    expect(parts.map(({ alone, commands: some }) => [alone, some.map(({ invoiceId }) => invoiceId)])).toEqual(
      [
        [false, [b.invoiceId, d.invoiceId]],
        [true, [c.invoiceId]],
        [true, [a.invoiceId]],
      ],
    );
  });

  test('what another delivery has called goes one by one, and without an attempt left not at all', async () => {
    const [a, b, c, d] = await commands();
    const earlier = new Map([
      [a.invoiceId, { since: past, attempt: 2 }],
      [b.invoiceId, { since: past, attempt: maxAttempts }],
      [d.invoiceId, { since: past, attempt: 1 }],
    ]);
    const parts = partsToRepeat({ commands: [a, b, c, d] }, earlier);
    expect(parts.map(({ alone, commands: some }) => [alone, some.map(({ invoiceId }) => invoiceId)])).toEqual(
      [
        [true, [d.invoiceId]],
        [true, [a.invoiceId]],
      ],
    );
  });
});
