import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreAway } from '../../packages/jobs/src/documents/documentStore.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { type Invoice, maxAttempts } from '../../src/invoice/invoice.ts';
import { paramsHash } from '../../src/paying/idempotencyKey.ts';
import { BatchUnfinished, createPayBatch, startPart } from '../../src/paying/payBatch.ts';
import { datedByMessage, type PaymentBatch, paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { ChargeOutcome } from '../../src/paying/paymentProvider.ts';
import { anInstance } from '../support/anInstance.ts';
import { emptyProvider } from '../support/emptyProvider.ts';
import {
  aRun,
  hastyClock,
  hour,
  minute,
  type PayingWorld,
  payingWorld,
  watchedProvider,
} from '../support/payingWorld.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const never = { staleClaim: 0, settled: 0, missing: 0 };
const nothing = { paid: 0, retry: 0, declined: 0, processing: 0, parked: 0 };

/** Pays one claimed invoice with the payment method and returns what became of it. */
async function payOne(paymentMethod: string, changes: Partial<Invoice> = {}) {
  const { batch, shard, ids } = await world.claimedBatch(1, { paymentMethod, ...changes });
  const { pay, handedOn } = world.consumer();
  const result = await pay(batch);
  const [invoice] = await world.stored(shard, ids);
  return { result, invoice, handedOn, shard, ids, charges: await world.charges(ids) };
}

/** Begins to call a batch, as a delivery does that dies then. */
function started(batch: PaymentBatch) {
  const whole = { commands: batch.commands, earlier: new Map(), alone: false };
  return startPart(world.invoices, batch, whole, { claimStaleMs: 5 * minute, by: 'host-dead' });
}

/** Milliseconds from now until the invoice is due again. */
function wait(invoice: Invoice | undefined): number {
  return Date.parse(invoice?.actionableAt ?? '') - Date.now();
}

describe('outcomes', () => {
  test('paid: the charge, the invoice and the order for its receipt agree', async () => {
    const { batch, shard, ids } = await world.claimedBatch(20);
    const { pay, handedOn } = world.consumer();
    const result = await pay(batch);
    expect(result).toEqual({ settled: { ...nothing, paid: 20 }, dropped: never, lost: 0, left: 0 });
    const invoices = await world.stored(shard, ids);
    const charges = await world.charges(ids);
    expect(new Map(charges.map(({ invoiceId, amount }) => [invoiceId, amount]))).toEqual(
      new Map(invoices.map(({ id, amountMinor }) => [id, amountMinor])),
    );
    expect(charges).toHaveLength(20);
    for (const invoice of invoices) {
      expect(invoice).toMatchObject({ status: 'paid', payment: { id: expect.stringMatching(/^pi_/) } });
      expect(invoice).not.toHaveProperty('claim');
      expect(invoice).not.toHaveProperty('actionableAt');
      expect(invoice.timeline.at(-1)).toMatchObject({ what: 'paid', paymentId: invoice.payment.id });
    }
    const ordered = (await world.workItemMessages(shard)).flatMap(({ body }) => body as object[]);
    expect(ordered).toHaveLength(20);
    expect(ordered).toContainEqual(
      expect.objectContaining({
        resourceId: ids[0],
        stage: 'receipt',
        input: expect.objectContaining({ paymentId: invoices[0]?.payment.id }),
      }),
    );
    expect(handedOn.map(({ id }) => id)).toEqual((await world.workItemMessages(shard)).map(({ id }) => id));
  });

  test('soft decline: due again in a day, under the next key', async () => {
    const { invoice, charges } = await payOne('pm_card_chargeDeclinedInsufficientFunds');
    expect(invoice).toMatchObject({
      status: 'pending',
      attempts: 0,
      payment: { keyNumber: 2, declines: 1 },
    });
    expect(invoice?.payment).not.toHaveProperty('keyCreatedAt');
    expect(Math.round(wait(invoice) / hour)).toBe(24);
    expect(charges).toEqual([]);
  });

  test('hard decline: final, with the reason', async () => {
    const { invoice, handedOn } = await payOne('pm_card_chargeDeclinedLostCard');
    expect(invoice).toMatchObject({ status: 'declined', reason: expect.stringMatching(/^lost_card/) });
    expect(invoice).not.toHaveProperty('actionableAt');
    expect(handedOn.flatMap(({ body }) => body as { stage: string }[])).not.toContainEqual(
      expect.objectContaining({ stage: 'receipt' }),
    );
  });

  test('transient: retried soon with the same key, and no attempt is used up', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1);
    const { provider } = watchedProvider(world.provider, {
      charge: async () => ({ kind: 'transient', code: 'authentication', message: 'the key is refused' }),
    });
    await world.consumer({ provider }).pay(batch);
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({
      status: 'pending',
      attempts: 0,
      payment: { keyNumber: 1, deferrals: 1 },
    });
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'retry: transient' });
    expect(wait(invoice)).toBeLessThan(minute);
    expect(await world.charges(ids)).toEqual([]);
  });

  test('unknown after charging: the same key again, and the provider says that it was paid', async () => {
    const { invoice, shard, ids, charges } = await payOne('pm_local_resetAfterChargeOnce');
    expect(invoice).toMatchObject({ status: 'pending', attempts: 1, payment: { keyNumber: 1 } });
    expect(charges).toHaveLength(1);
    await world.makeDue(shard, ids);
    const { message } = await world.claimDue(shard);
    await world.consumer().pay(paymentBatchSchema.parse(message?.body));
    expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'paid' });
    expect(await world.charges(ids)).toHaveLength(1);
  });

  test('unknown on the last attempt: parked, with the reason', async () => {
    const { invoice } = await payOne('pm_local_resetBeforeCharge', { attempts: maxAttempts - 1 });
    expect(invoice).toMatchObject({
      status: 'parked',
      reason: expect.stringContaining(`still unknown after ${maxAttempts} attempts`),
    });
  });

  test('refused: parked at once', async () => {
    const { invoice } = await payOne('pm_no_such_method');
    expect(invoice).toMatchObject({
      status: 'parked',
      reason: expect.stringContaining('resource_missing'),
    });
  });

  test('a key the provider has seen with other parameters: parked, and nothing charged twice', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1);
    const [command] = batch.commands;
    await world.provider.charge({
      invoiceId: ids[0] ?? '',
      customerId: 'cus_1',
      amountMinor: 7,
      currency: 'USD',
      paymentMethod: 'pm_card_visa',
      idempotencyKey: `invoice-${command?.invoiceId}-1`,
    });
    await world.consumer().pay(batch);
    expect((await world.stored(shard, ids))[0]).toMatchObject({
      status: 'parked',
      reason: expect.stringContaining('idempotency key sent with other parameters'),
    });
    expect(await world.charges(ids)).toHaveLength(1);
  });

  test('parameters other than those of the key: parked without a call', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    const [first, second] = batch.commands;
    if (first === undefined || second === undefined) throw new Error('no commands');
    const { provider, calls } = watchedProvider(world.provider);
    const changed = { ...batch, commands: [{ ...first, amountMinor: 999_999 }, second] };
    await world.consumer({ provider }).pay(changed);
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(['parked', 'paid']);
    expect(calls.charge).toEqual([`invoice-${second.invoiceId}-1`]);
  });

  test('each invoice of a batch gets its own outcome', async () => {
    const { shard, ids } = await world.dueInvoices(3);
    for (const [n, method] of ['pm_card_visa', 'pm_card_chargeDeclinedLostCard', 'pm_no_such'].entries()) {
      await world.container
        .item(ids[n] ?? '', shard)
        .patch([{ op: 'set', path: '/paymentMethod', value: method }]);
    }
    const { message } = await world.claimDue(shard);
    const batch = paymentBatchSchema.parse(message?.body);
    const { settled } = await world.consumer().pay(batch);
    expect(settled).toEqual({ ...nothing, paid: 1, declined: 1, parked: 1 });
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual([
      'paid',
      'declined',
      'parked',
    ]);
  });
});

describe('messages delivered twice', () => {
  test('a message redelivered after settlement makes no call', async () => {
    const { batch, shard, ids } = await world.claimedBatch(5);
    await world.consumer().pay(batch);
    const before = await world.stored(shard, ids);
    const { provider, calls } = watchedProvider(world.provider);
    const again = await world.consumer({ provider }).pay(batch);
    expect(again).toEqual({ settled: nothing, dropped: { ...never, settled: 5 }, lost: 0, left: 0 });
    expect(calls.charge).toEqual([]);
    expect(await world.stored(shard, ids)).toEqual(before);
  });

  test('two deliveries at the same time: one charge, one settlement, one receipt each', async () => {
    const { batch, shard, ids } = await world.claimedBatch(8);
    const results = await Promise.all([1, 2].map(() => world.consumer().pay(batch)));
    const paid = results.reduce((sum, { settled }) => sum + settled.paid, 0);
    const stored = await world.stored(shard, ids);
    expect(stored.filter(({ status }) => status === 'paid')).toHaveLength(paid);
    expect(await world.charges(ids)).toHaveLength(8);
    const receipts = (await world.workItemMessages(shard)).flatMap(({ body }) => body as object[]);
    expect(receipts).toHaveLength(paid);
  });

  test('one delivery calls while the other is charging: the same key gets the answer later', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1);
    await world.paymentFault({ kind: 'delay', delayMs: 1_200, filter: { invoiceId: ids[0] } });
    const both = await Promise.all([1, 2].map(() => world.consumer().pay(batch)));
    // The second call is told that the first is in flight, and puts the invoice back before the first can settle it.
    const told = both.map(({ settled, lost }) => ({ paid: settled.paid, retry: settled.retry, lost }));
    expect(told).toContainEqual({ paid: 0, retry: 1, lost: 0 });
    expect(told).toContainEqual({ paid: 0, retry: 0, lost: 1 });
    await world.makeDue(shard, ids);
    const { message } = await world.claimDue(shard);
    await world.consumer().pay(paymentBatchSchema.parse(message?.body));
    expect((await world.stored(shard, ids))[0]?.status).toBe('paid');
    expect(await world.charges(ids)).toHaveLength(1);
  });
});

describe('a delivery that finds calls of another', () => {
  test('calls them again one after the other, as one attempt more', async () => {
    const { batch, shard, ids } = await world.claimedBatch(20);
    await started(batch);
    let atOnce = 0;
    let most = 0;
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        most = Math.max(most, ++atOnce);
        const outcome = await world.provider.charge(request);
        atOnce--;
        return outcome;
      },
    });
    expect((await world.consumer({ provider }).pay(batch)).settled.paid).toBe(20);
    expect(most).toBe(1);
    for (const { attempts, timeline } of await world.stored(shard, ids)) {
      expect(attempts).toBe(2);
      expect(timeline.map(({ what }) => what)).toContain('called again');
    }
    expect(await world.charges(ids)).toHaveLength(20);
  });

  test('if it dies, only what it was calling has used up an attempt', async () => {
    const { batch, shard, ids } = await world.claimedBatch(20);
    await started(batch);
    const died = new Error('as if the process had ended');
    const { provider, calls } = watchedProvider(world.provider, {
      charge: async () => {
        throw died;
      },
    });
    await expect(world.consumer({ provider }).pay(batch)).rejects.toThrow(died);
    expect(calls.charge).toHaveLength(1);
    const stored = await world.stored(shard, ids);
    expect(stored.filter(({ attempts }) => attempts === 2)).toHaveLength(1);
    expect(stored.filter(({ attempts }) => attempts === 1)).toHaveLength(19);
  });

  test('what has been tried least often goes first, and what has no attempt left stays for a run to park', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    await started(batch);
    for (const [n, attempt] of [maxAttempts, 3, 1].entries()) {
      await world.container.item(ids[n] ?? '', shard).patch([
        { op: 'set', path: '/claim/attempt', value: attempt },
        { op: 'set', path: '/attempts', value: attempt },
      ]);
    }
    const { provider, calls } = watchedProvider(world.provider);
    expect(await world.consumer({ provider }).pay(batch)).toMatchObject({ settled: { paid: 2 }, left: 1 });
    expect(calls.charge).toEqual([ids[2], ids[1]].map((id) => `invoice-${id}-1`));
    await world.makeDue(shard, ids);
    expect((await world.claimDue(shard)).counts).toMatchObject({ parked: 1, reclaimed: 0 });
    expect((await world.stored(shard, ids))[0]?.reason).toMatch(/known outcome/);
  });

  test('batches are paid side by side', async () => {
    const batches = await Promise.all([1, 2, 3].map(() => world.claimedBatch(2)));
    for (const { batch, shard, ids } of batches) {
      await started(batch);
      for (const id of ids)
        await world.container.item(id, shard).patch([
          { op: 'set', path: '/claim/attempt', value: 2 },
          { op: 'set', path: '/attempts', value: 2 },
        ]);
    }
    let atOnce = 0;
    let most = 0;
    const all = Promise.withResolvers<void>();
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        most = Math.max(most, ++atOnce);
        if (atOnce === batches.length) all.resolve();
        await all.promise;
        const outcome = await world.provider.charge(request);
        atOnce--;
        return outcome;
      },
    });
    const { pay } = world.consumer({ provider, clock: systemClock });
    const results = await Promise.all(batches.map(({ batch }) => pay(batch)));
    expect(results.map(({ settled }) => settled.paid)).toEqual([2, 2, 2]);
    expect(most).toBe(batches.length);
  });
});

describe('when a payment became unknown', () => {
  const busy = watchedProviderOf({ kind: 'transient', code: 'busy', message: '' });

  test('a redelivered message whose calls had begun: at the claim', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    await started(batch);
    const claims = (await world.stored(shard, ids)).map(({ claim }) => claim?.at);
    await world.consumer({ provider: busy }).pay(batch);
    const unknown = (await world.stored(shard, ids)).map(({ payment }) => payment.unknownSince);
    expect(unknown).toEqual(claims);
  });

  test('never, if every call charged nothing', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    await world.consumer({ provider: busy }).pay(batch);
    for (const { payment } of await world.stored(shard, ids))
      expect(payment).not.toHaveProperty('unknownSince');
  });

  function watchedProviderOf(outcome: ChargeOutcome) {
    return { ...emptyProvider, charge: async () => outcome };
  }
});

describe('stale claims', () => {
  const late = { claimStaleMs: -1 };

  test('a batch whose claims were taken over pays nothing and says so', async () => {
    const { batch, shard, ids } = await world.claimedBatch(4, {}, late);
    const { message } = await world.claimDue(shard, {
      run: aRun({ instance: 'host-c', lease: { fence: 2 } }),
    });
    const { provider, calls } = watchedProvider(world.provider);
    const stale = await world.consumer({ provider }).pay(batch);
    expect(stale).toEqual({ settled: nothing, dropped: { ...never, staleClaim: 4 }, lost: 0, left: 0 });
    expect(calls.charge).toEqual([]);
    await world.consumer().pay(paymentBatchSchema.parse(message?.body));
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(Array(4).fill('paid'));
    expect(await world.charges(ids)).toHaveLength(4);
  });

  test.each(['older', 'newer'] as const)(
    'ordering per invoice: of two commands only the newer pays, even if the %s one comes first',
    async (first) => {
      const older = await world.claimedBatch(2, {}, { claimStaleMs: -minute });
      const { message } = await world.claimDue(older.shard, { run: aRun({ runId: 'run-2' }) });
      const newer = paymentBatchSchema.parse(message?.body);
      const inOrder = first === 'older' ? [older.batch, newer] : [newer, older.batch];
      const { provider, calls } = watchedProvider(world.provider);
      const results = [];
      for (const batch of inOrder) {
        results.push([batch.batchId, await world.consumer({ provider }).pay(batch)]);
      }
      expect(Object.fromEntries(results)).toEqual({
        [newer.batchId]: { settled: { ...nothing, paid: 2 }, dropped: never, lost: 0, left: 0 },
        [older.batch.batchId]: {
          settled: nothing,
          dropped: { ...never, [first === 'older' ? 'staleClaim' : 'settled']: 2 },
          lost: 0,
          left: 0,
        },
      });
      expect(calls.charge).toHaveLength(2);
      expect(await world.charges(older.ids)).toHaveLength(2);
    },
  );

  test('if one claim of a batch was taken over, the others are paid', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    await world.makeDue(shard, ids.slice(0, 1));
    await world.claimDue(shard, { run: aRun({ lease: { fence: 2 } }) });
    const result = await world.consumer().pay(batch);
    expect(result).toMatchObject({ settled: { paid: 2 }, dropped: { staleClaim: 1 } });
  });

  test('a claim taken over during the call: the outcome is dropped, and the new holder gets it under the same key', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    let taken: PaymentBatch | undefined;
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        const outcome = await world.provider.charge(request);
        if (request.invoiceId === ids[0]) {
          await world.makeDue(shard, ids.slice(0, 1));
          const { message } = await world.claimDue(shard, { run: aRun({ lease: { fence: 2 } }) });
          taken = paymentBatchSchema.parse(message?.body);
        }
        return outcome;
      },
    });
    const result = await world.consumer({ provider }).pay(batch);
    expect(result).toMatchObject({ settled: { paid: 1 }, lost: 1 });
    if (taken === undefined) throw new Error('nothing was taken');
    await world.consumer().pay(taken);
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(['paid', 'paid']);
    expect(await world.charges(ids)).toHaveLength(2);
  });

  test('a missing invoice is dropped', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    await world.container.item(ids[0] ?? '', shard).delete();
    const result = await world.consumer().pay(batch);
    expect(result).toMatchObject({ settled: { paid: 1 }, dropped: { missing: 1 } });
  });
});

describe('lost answers of the store', () => {
  const kinds = ['reset-after', 'reset-before', '503', '408'];

  /** A shard with an invoice paid today: its first settlement is refused, because the figures of the day are missing. */
  async function settledShard(): Promise<{ shard: string }> {
    const { batch, shard } = await world.claimedBatch(1);
    await world.consumer().pay(batch);
    return { shard };
  }

  test.each(kinds)('at the start (%s): every invoice is charged once', async (kind) => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    const filter = { operation: 'batch', partitionKey: shard };
    await world.cosmos.fault({ kind, count: 3, filter });
    expect((await world.consumer().pay(batch)).settled.paid).toBe(3);
    expect(await world.charges(ids)).toHaveLength(3);
  });

  test.each(kinds)(
    'at the settlement (%s): it is settled once, and its receipts are ordered once',
    async (kind) => {
      const { shard } = await settledShard();
      const earlier = (await world.workItemMessages(shard)).map(({ id }) => id);
      const { batch, ids } = await world.claimedBatch(3, { shard });
      const filter = { operation: 'batch', partitionKey: shard };
      let armed: Promise<void> | undefined;
      const { provider } = watchedProvider(world.provider, {
        async charge(request) {
          armed ??= world.cosmos.fault({ kind, count: 3, filter });
          await armed;
          return world.provider.charge(request);
        },
      });
      const { pay, handedOn } = world.consumer({ provider });
      const { settled, lost } = await pay(batch);
      expect({ paid: settled.paid, lost }).toEqual({ paid: 3, lost: 0 });
      const stored = await world.stored(shard, ids);
      expect(stored.map(({ status }) => status)).toEqual(['paid', 'paid', 'paid']);
      const all = await world.workItemMessages(shard);
      const messages = all.filter(({ id }) => !earlier.includes(id));
      expect(messages.flatMap(({ body }) => body as object[])).toHaveLength(3);
      // The dispatched message equals the stored one exactly.
      const content = ({ id, body }: { id: string; body: unknown }) => [id, body] as const;
      expect(new Map(handedOn.map(content))).toEqual(new Map(messages.map(content)));
    },
  );

  test.each(kinds)('to every request for a while (%s): the retries outlast it', async (kind) => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    let armed: Promise<void> | undefined;
    await world.cosmos.fault({ kind, count: 6, filter: { partitionKey: shard } });
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        armed ??= world.cosmos.fault({ kind, count: 6, filter: { partitionKey: shard } });
        await armed;
        return world.provider.charge(request);
      },
    });
    const { settled, lost } = await world.consumer({ provider }).pay(batch);
    expect({ paid: settled.paid, lost }).toEqual({ paid: 3, lost: 0 });
    expect(await world.charges(ids)).toHaveLength(3);
  });

  test('a settlement that never gets through: the message is redelivered and charges nothing more', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    const filter = { operation: 'batch', partitionKey: shard };
    let armed: Promise<void> | undefined;
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        armed ??= world.cosmos.fault({ kind: '503', count: 40, filter });
        await armed;
        return world.provider.charge(request);
      },
    });
    await expect(world.consumer({ provider }).pay(batch)).rejects.toThrow('could not be settled');
    await world.cosmos.clearFaults();
    expect((await world.consumer().pay(batch)).settled.paid).toBe(2);
    expect(await world.charges(ids)).toHaveLength(2);
  });
});

describe('old keys', () => {
  const oldKey = (invoice: { customerId: string; amountMinor: number }) => ({
    keyNumber: 1,
    keyCreatedAt: new Date(Date.now() - 23.5 * hour).toISOString(),
    paramsHash: paramsHash({ currency: 'USD', paymentMethod: 'pm_card_visa', ...invoice }),
    declines: 0,
    deferrals: 0,
  });
  const content = { customerId: 'cus_1', amountMinor: 1_000 };

  test('a key older than 23 h is never sent: the payment found is the answer', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1, { payment: oldKey(content) });
    await world.provider.charge({
      ...content,
      invoiceId: ids[0] ?? '',
      currency: 'USD',
      paymentMethod: 'pm_card_visa',
      idempotencyKey: 'long ago',
    });
    const { provider, calls } = watchedProvider(world.provider);
    await world.consumer({ provider }).pay(batch);
    expect(calls).toEqual({ charge: [], find: ids });
    expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'paid' });
    expect(await world.charges(ids)).toHaveLength(1);
  });

  test('if none is found and it may have been charged, it is looked up again in an hour', async () => {
    const unknownSince = new Date(Date.now() - 20 * hour).toISOString();
    const { batch, shard, ids } = await world.claimedBatch(1, {
      payment: { ...oldKey(content), unknownSince },
    });
    const { provider, calls } = watchedProvider(world.provider);
    const before = Date.now();
    await world.consumer({ provider }).pay(batch);
    expect(calls).toEqual({ charge: [], find: ids });
    const [stored] = await world.stored(shard, ids);
    expect(stored).toMatchObject({
      status: 'pending',
      attempts: 0,
      payment: { ...oldKey(content), keyCreatedAt: expect.any(String), unknownSince },
    });
    expect(Date.parse(stored?.actionableAt ?? '')).toBeGreaterThanOrEqual(before + hour);
  });

  test('if none is found for an hour, nothing was charged, and the key starts fresh', async () => {
    const ago = (hours: number) => new Date(Date.now() - hours * hour).toISOString();
    const payment = { ...oldKey(content), unknownSince: ago(20), noneFoundAt: ago(1.01) };
    const { batch, shard, ids } = await world.claimedBatch(1, { payment });
    const { provider, calls } = watchedProvider(world.provider);
    await world.consumer({ provider }).pay(batch);
    expect(calls).toEqual({ charge: [], find: ids });
    const [stored] = await world.stored(shard, ids);
    expect(stored).toMatchObject({ status: 'pending', payment: { keyNumber: 1, declines: 0, deferrals: 0 } });
    expect(stored?.payment).not.toHaveProperty('unknownSince');
    expect(stored?.payment).not.toHaveProperty('noneFoundAt');
    const { message } = await world.claimDue(shard);
    await world.consumer().pay(paymentBatchSchema.parse(message?.body));
    expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'paid', payment: { keyNumber: 1 } });
    expect(await world.charges(ids)).toHaveLength(1);
  });

  test('if none is found and definitely nothing was charged, the key starts fresh', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1, { payment: oldKey(content) });
    const { provider, calls } = watchedProvider(world.provider);
    await world.consumer({ provider }).pay(batch);
    expect(calls).toEqual({ charge: [], find: ids });
    expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'pending', attempts: 0 });
    await world.makeDue(shard, ids);
    const { message } = await world.claimDue(shard);
    await world.consumer().pay(paymentBatchSchema.parse(message?.body));
    expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'paid', payment: { keyNumber: 1 } });
    expect(await world.charges(ids)).toHaveLength(1);
  });

  test('a message redelivered once its key is too old: calls may have charged, so it is looked up again', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1, { payment: oldKey(content) });
    await started(batch);
    await world.consumer().pay(batch);
    expect((await world.stored(shard, ids))[0]).toMatchObject({
      status: 'pending',
      payment: { unknownSince: expect.any(String), noneFoundAt: expect.any(String) },
    });
  });

  test('if the provider cannot say, it is asked again later', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1, { payment: oldKey(content) });
    const { provider, calls } = watchedProvider(world.provider, {
      find: async () => ({ kind: 'unknown', message: 'down' }),
    });
    await world.consumer({ provider }).pay(batch);
    expect(calls.charge).toEqual([]);
    expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a process whose clock is behind goes by the time of the message: it does not send a key that is too old', async () => {
    const { batch } = await world.claimedBatch(1, { payment: oldKey(content) });
    const behind = { ...hastyClock, now: () => hastyClock.now() - 2 * hour };
    const { provider, calls } = watchedProvider(world.provider);
    const { pay } = world.consumer({ provider, instance: anInstance({ name: 'host-b', clock: behind }) });
    await pay(batch, () => true, Date.now);
    expect(calls).toEqual({ charge: [], find: [batch.commands[0]?.invoiceId] });
  });

  test('the age of a key, as its message tells it, is stored before the first call', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1);
    const sentAt = Date.now() - hour;
    const stored: unknown[] = [];
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        stored.push(...(await world.stored(shard, ids)).map(({ payment }) => payment.keyCreatedAt));
        return world.provider.charge(request);
      },
    });
    await world.consumer({ provider }).pay(
      datedByMessage(batch, sentAt),
      () => true,
      () => sentAt,
    );
    expect(stored).toEqual([new Date(sentAt).toISOString()]);
  });

  test('a key of 22 h is sent', async () => {
    const payment = { ...oldKey(content), keyCreatedAt: new Date(Date.now() - 22 * hour).toISOString() };
    const { batch } = await world.claimedBatch(1, { payment });
    const { provider, calls } = watchedProvider(world.provider);
    await world.consumer({ provider }).pay(batch);
    expect(calls.find).toEqual([]);
    expect(calls.charge).toHaveLength(1);
  });
});

describe('time', () => {
  test('a slow call does not delay the others', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    const slow = Promise.withResolvers<ChargeOutcome>();
    const { provider } = watchedProvider(world.provider, {
      charge: (request) => (request.invoiceId === ids[1] ? slow.promise : world.provider.charge(request)),
    });
    const running = world.consumer({ provider }).pay(batch);
    await expect
      .poll(async () => (await world.stored(shard, ids)).map(({ status }) => status))
      .toEqual(['paid', 'claimed', 'paid']);
    slow.resolve({ kind: 'succeeded', paymentId: 'pi_slow' });
    expect((await running).settled.paid).toBe(3);
    expect((await world.stored(shard, ids))[1]).toMatchObject({ status: 'paid', payment: { id: 'pi_slow' } });
  });

  test('starting a batch is a sign of life: its claims go stale that much later', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1);
    const slow = Promise.withResolvers<ChargeOutcome>();
    const { provider } = watchedProvider(world.provider, { charge: () => slow.promise });
    const consumer = world.consumer({ provider, claimStaleMs: 2 * hour });
    const running = consumer.pay(batch);
    await expect.poll(async () => (await world.stored(shard, ids))[0]?.claim?.phase).toBe('calling');
    expect(wait((await world.stored(shard, ids))[0])).toBeGreaterThan(hour);
    slow.resolve({ kind: 'succeeded', paymentId: 'pi_1' });
    await running;
  });

  test('permission to call withdrawn beforehand: nothing is charged, and the message is redelivered', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    const { provider, calls } = watchedProvider(world.provider);
    await expect(world.consumer({ provider }).pay(batch, () => false)).rejects.toThrow(BatchUnfinished);
    expect(calls.charge).toEqual([]);
    expect((await world.stored(shard, ids)).map(({ claim }) => claim?.phase)).toEqual(
      Array(3).fill('claimed'),
    );
    expect((await world.consumer().pay(batch)).settled.paid).toBe(3);
  });

  test('permission withdrawn during a call: its answer is still taken, the rest is left', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    let mayCall = true;
    const { provider, calls } = watchedProvider(world.provider, {
      async charge(request) {
        mayCall = false;
        return world.provider.charge(request);
      },
    });
    const { pay } = world.consumer({ provider, concurrentCalls: 1 });
    await expect(pay(batch, () => mayCall)).rejects.toThrow(
      `2 commands of batch ${batch.batchId} were not called`,
    );
    expect(calls.charge).toHaveLength(1);
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual([
      'paid',
      'claimed',
      'claimed',
    ]);
    const { settled } = await world.consumer().pay(batch);
    expect(settled.paid).toBe(2);
  });

  test('permission withdrawn after the start: what was not called is returned, as never called', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    let mayCall = true;
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        mayCall = false;
        return world.provider.charge(request);
      },
    });
    const { pay } = world.consumer({ provider, concurrentCalls: 1 });
    await expect(pay(batch, () => mayCall)).rejects.toThrow(BatchUnfinished);
    expect((await world.stored(shard, ids)).map(({ claim }) => claim?.phase)).toEqual([
      undefined,
      'claimed',
      'claimed',
    ]);
    // A day later nobody knows the key any more. Nothing was called, so no person has to look at it.
    const away = { charge: async () => ({ kind: 'transient', code: 'busy', message: '' }) as const };
    await world.consumer({ provider: { ...world.provider, ...away } }).pay(batch);
    for (const { payment } of await world.stored(shard, ids))
      expect(payment).not.toHaveProperty('unknownSince');
  });

  test.each(['reset-after', 'reset-before', '503'])(
    'a lost answer when calls are returned (%s): the next delivery pays, once',
    async (kind) => {
      const { batch, shard, ids } = await world.claimedBatch(3);
      let mayCall = true;
      const { provider } = watchedProvider(world.provider, {
        async charge(request) {
          mayCall = false;
          await world.cosmos.fault({ kind, count: 3, filter: { operation: 'batch', partitionKey: shard } });
          return world.provider.charge(request);
        },
      });
      const { pay } = world.consumer({ provider, concurrentCalls: 1 });
      await expect(pay(batch, () => mayCall)).rejects.toThrow(BatchUnfinished);
      await world.cosmos.clearFaults();
      expect((await world.consumer().pay(batch)).settled.paid).toBe(2);
      expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(Array(3).fill('paid'));
      expect(await world.charges(ids)).toHaveLength(3);
    },
  );

  test('a delivery whose settlement fails ends once the rest is returned: the next one would take it for called', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    let mayCall = true;
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        mayCall = false;
        return world.provider.charge(request);
      },
    });
    const begun = Promise.withResolvers<void>();
    const slow = Promise.withResolvers<void>();
    const invoices: typeof world.invoices = {
      ...world.invoices,
      settle: () => Promise.reject(new StoreAway('accessDenied', undefined, 'the store denies access')),
      async giveBack(given) {
        begun.resolve();
        await slow.promise;
        await world.invoices.giveBack(given);
      },
    };
    const { pay } = world.consumer({ provider, invoices, concurrentCalls: 1, lingerMs: 100 });
    const paying = pay(batch, () => mayCall);
    const first = Promise.race([
      paying.catch(() => 'ended'),
      begun.promise.then(() => setImmediate('in flight')),
    ]);
    expect(await first).toBe('in flight');
    slow.resolve();
    await expect(paying).rejects.toThrow('the store denies access');
    expect((await world.stored(shard, ids)).map(({ claim }) => claim?.phase)).toEqual([
      'calling',
      'claimed',
      'claimed',
    ]);
  });

  test('a delivery that stops gives nothing back that another has begun to call', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    let mayCall = true;
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        // Another delivery comes, calls, and dies.
        const { calledBefore } = await started(batch);
        const part = { commands: batch.commands, earlier: calledBefore, alone: false };
        await startPart(world.invoices, batch, part, { claimStaleMs: 5 * minute, by: 'host-dead' });
        mayCall = false;
        return world.provider.charge(request);
      },
    });
    const { pay } = world.consumer({ provider, concurrentCalls: 1 });
    await expect(pay(batch, () => mayCall)).rejects.toThrow(BatchUnfinished);
    expect((await world.stored(shard, ids))[1]).toMatchObject({
      status: 'claimed',
      claim: { phase: 'calling', attempt: 2 },
    });
  });

  test('no call begins when the claims are about to go stale: the rest goes back, due at once, as if never claimed', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    let elapsed = 0;
    const clock = { ...hastyClock, monotonic: () => (elapsed += 5 * minute) };
    const { provider, calls } = watchedProvider(world.provider);
    const { settled } = await world.consumer({ provider, clock }).pay(batch);
    expect(calls.charge).toEqual([]);
    expect(settled).toEqual({ paid: 0, retry: 2, declined: 0, processing: 0, parked: 0 });
    const stored = await world.stored(shard, ids);
    expect(stored).toMatchObject(
      Array(2).fill({ status: 'pending', attempts: 0, payment: { deferrals: 0 } }),
    );
    for (const { actionableAt = '' } of stored)
      expect(Date.parse(actionableAt)).toBeLessThanOrEqual(Date.now());
    expect(new Set(stored.map(({ timeline }) => timeline.at(-1)?.settlement)).size).toBe(1);
  });

  test('a machine that was frozen: no call begins after it wakes, even if its monotonic clock stood still', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    let frozenMs = 0;
    const clock = { ...hastyClock, now: () => hastyClock.now() + frozenMs };
    const { provider, calls } = watchedProvider(world.provider, {
      async charge(request) {
        const outcome = await world.provider.charge(request);
        frozenMs = 5 * minute;
        return outcome;
      },
    });
    const { pay } = world.consumer({ provider, clock, concurrentCalls: 1 });
    expect(await pay(batch)).toMatchObject({ settled: { paid: 1, retry: 2 } });
    expect(calls.charge).toHaveLength(1);
    expect(await world.stored(shard, ids)).toMatchObject([
      { status: 'paid' },
      { status: 'pending', attempts: 0 },
      { status: 'pending', attempts: 0 },
    ]);
  });

  test('a batch that is not let in in time goes back, but not what an earlier delivery may have charged', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    const [first] = batch.commands;
    if (first === undefined) throw new Error('an empty batch');
    const part = { ...batch, commands: [first] };
    await started(part);
    const { parts, policy } = world.consumer();
    const provider = { ...parts.provider, admit: async () => undefined };
    await createPayBatch({ ...parts, provider }, policy)(batch);
    const stored = await world.stored(shard, ids);
    expect(stored).toMatchObject([
      { status: 'claimed', claim: { phase: 'calling' } },
      { status: 'pending', attempts: 0 },
    ]);
  });

  test('a batch that is not let in in time goes back as if it had not been claimed', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    const { parts, policy } = world.consumer();
    const provider = { ...parts.provider, admit: async () => undefined };
    const { settled } = await createPayBatch({ ...parts, provider }, policy)(batch);
    expect(settled.retry).toBe(2);
    const stored = await world.stored(shard, ids);
    expect(stored.map(({ status, attempts }) => ({ status, attempts }))).toEqual(
      Array(2).fill({ status: 'pending', attempts: 0 }),
    );
    const { message } = await world.claimDue(shard);
    const { settled: later } = await world.consumer().pay(paymentBatchSchema.parse(message?.body));
    expect(later.paid).toBe(2);
  });

  test('a provider that rejects leaves the other invoices settled, and the message is redelivered', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    const { provider } = watchedProvider(world.provider, {
      async charge(request) {
        if (request.invoiceId === ids[0]) throw new Error('a mistake in the adapter');
        return world.provider.charge(request);
      },
    });
    await expect(world.consumer({ provider }).pay(batch)).rejects.toThrow('a mistake in the adapter');
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(['claimed', 'paid']);
  });
});
