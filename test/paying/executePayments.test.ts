import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NoClearAnswer, StoreAway } from '../../packages/jobs/src/documents/documentStore.ts';
import { formatVersion } from '../../packages/jobs/src/documents/storedDocuments.ts';
import { renewMessageLock } from '../../packages/jobs/src/serviceBusHeldMessages.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { createExecutePayments } from '../../src/paying/executePayments.ts';
import type { HeldMessages, LockRenewal } from '../../src/paying/messageLock.ts';
import { BatchUnfinished } from '../../src/paying/payBatch.ts';
import { BatchRefused } from '../../src/paying/paymentBatch.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { anInstance } from '../support/anInstance.ts';
import {
  hastyClock,
  hour,
  type PayingWorld,
  payingWorld,
  shards,
  watchedProvider,
} from '../support/payingWorld.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { type ServiceBusForTests, serviceBusForTests } from '../support/serviceBusForTests.ts';

let world: PayingWorld;
let dead: [string, { reason: string; description: string }][];
let sentAgain: unknown[][];
let telemetry: ReturnType<typeof recordedTelemetry>;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  dead = [];
  sentAgain = [];
  telemetry = recordedTelemetry();
});

function consume(message: unknown, delivery?: unknown, signal?: AbortSignal) {
  const { parts, policy } = world.consumer({ instance: reporting() });
  const execute = createExecutePayments({ ...parts, messages: messages() }, policy);
  return execute({ message, delivery, ...(signal === undefined ? {} : { signal }) });
}

/** An instance whose telemetry and log this test reads. */
function reporting() {
  return anInstance({ name: 'host-b', clock: hastyClock, telemetry });
}

function messages(changes: Partial<HeldMessages> = {}): HeldMessages {
  return {
    deadLetter: async (lockToken, why) => void dead.push([lockToken, why]),
    renew: async () => renewedUntil(0),
    sendAgain: async (...given) => void sentAgain.push(given),
    ...changes,
  };
}

const renewedUntil = (until: number): LockRenewal => ({ kind: 'renewed', until });

describe('executePayments', () => {
  test('a batch is paid, whatever else the trigger passes', async () => {
    const { batch } = await world.claimedBatch(2);
    const metadata = { lockToken: 'token', deliveryCount: 1, sequenceNumber: 7, subject: null };
    expect(await consume(batch, metadata)).toMatchObject({ settled: { paid: 2 } });
    expect(dead).toEqual([]);
  });

  test('Service Bus says how old a key is at least, whatever the clocks of those who claim and pay', async () => {
    const sentAt = new Date().toISOString();
    const ahead = new Date(Date.now() + 2 * hour).toISOString();
    const { batch, shard, ids } = await world.claimedBatch(1, {
      payment: { keyNumber: 1, keyCreatedAt: ahead, declines: 0, deferrals: 0 },
      paymentMethod: 'pm_local_resetAfterChargeOnce',
    });
    await consume(batch, { lockToken: 'token', deliveryCount: 1, enqueuedTimeUtc: sentAt });
    expect((await world.stored(shard, ids))[0]?.payment).toMatchObject({ keyCreatedAt: sentAt });

    const { batch: old, ids: oldIds } = await world.claimedBatch(1);
    const tomorrow = new Date(Date.now() + 24 * hour).toISOString();
    await consume(old, { lockToken: 'token', deliveryCount: 1, enqueuedTimeUtc: tomorrow });
    expect(await world.charges(oldIds)).toEqual([]);
  });

  test('a message that has waited is as late as the renewal of its lock says', async () => {
    const { batch, ids } = await world.claimedBatch(1);
    const { parts, policy } = world.consumer({ instance: reporting() });
    const held = messages({ renew: async () => renewedUntil(Date.now() + 24 * hour) });
    const execute = createExecutePayments({ ...parts, messages: held }, policy);
    const enqueuedTimeUtc = new Date().toISOString();
    await execute({ message: batch, delivery: { lockToken: 'token', deliveryCount: 1, enqueuedTimeUtc } });
    expect(await world.charges(ids)).toEqual([]);
  });

  test('a time that nobody can read is left out', async () => {
    const { batch } = await world.claimedBatch(1);
    const metadata = { lockToken: 'token', deliveryCount: 1, enqueuedTimeUtc: 'yesterday' };
    expect(await consume(batch, metadata)).toMatchObject({ settled: { paid: 1 } });
  });

  test('a message that is not a batch is dead-lettered at once, with the faulty field as the reason', async () => {
    const outcome = await consume({ batchId: 'b' }, { lockToken: 'token', deliveryCount: 1 });
    expect(outcome).toEqual({ refused: expect.stringContaining('shard') });
    expect(dead).toEqual([
      ['token', { reason: 'BatchRefused', description: expect.stringContaining('shard') }],
    ]);
    expect(telemetry.values(metric.batchRejected)).toEqual([1]);
  });

  test('without a lock token the message is redelivered until the queue dead-letters it', async () => {
    await expect(consume('no batch')).rejects.toThrow(BatchRefused);
    expect(dead).toEqual([]);
  });

  test('a store outage: the message is redelivered, and after five deliveries it is left to the stale claims', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    await world.cosmos.fault({ kind: '503', count: 10_000, filter: { partitionKey: shard } });
    await expect(consume(batch, { lockToken: 'token', deliveryCount: 4 })).rejects.toThrow(NoClearAnswer);
    expect(telemetry.values(metric.batchLeft)).toEqual([]);
    expect(await consume(batch, { lockToken: 'token', deliveryCount: 5 })).toEqual({
      left: expect.stringContaining(batch.batchId),
    });
    expect(telemetry.values(metric.batchLeft)).toEqual([1]);
    expect(dead).toEqual([]);
    await world.cosmos.clearFaults();
    await world.makeDue(shard, ids);
    const { message } = await world.claimDue(shard);
    expect(await consume(message?.body)).toMatchObject({ settled: { paid: 2 } });
    expect(await world.charges(ids)).toHaveLength(2);
  });

  test('a store that denies access is handled the same way: no valid batch becomes a dead letter', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    const denied = cosmosInvoiceStore(world.cosmos.denied.invoices, { clock: hastyClock, shards });
    const { parts, policy } = world.consumer({ instance: reporting(), invoices: denied });
    const execute = createExecutePayments({ ...parts, messages: messages() }, policy);
    const consumeDenied = (deliveryCount: number) =>
      execute({ message: batch, delivery: { lockToken: 'token', deliveryCount } });
    await expect(consumeDenied(4)).rejects.toSatisfy(
      (error) => error instanceof StoreAway && error.reason === 'accessDenied',
    );
    expect(await consumeDenied(5)).toEqual({ left: expect.stringMatching(/./) });
    expect(telemetry.values(metric.batchLeft)).toEqual([1]);
    expect(dead).toEqual([]);
    expect(await world.charges(ids)).toEqual([]);
    await world.makeDue(shard, ids);
    const { message } = await world.claimDue(shard);
    expect(await consume(message?.body)).toMatchObject({ settled: { paid: 2 } });
  });

  test('a message from a newer release is sent again unchanged, and neither dead-lettered nor started', async () => {
    const { batch, shard, ids } = await world.claimedBatch(1);
    const newer = { ...batch, version: formatVersion + 1, added: 'by a newer release' };
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const applicationProperties = { traceparent };
    const delivery = { lockToken: 'token', deliveryCount: 9, messageId: 'm1', applicationProperties };
    expect(await consume(newer, delivery)).toEqual({ resent: expect.stringContaining('newer release') });
    expect(sentAgain).toEqual([[newer, 30_000, 'm1', traceparent]]);
    expect(dead).toEqual([]);
    expect(await world.stored(shard, ids)).toMatchObject([{ claim: { phase: 'claimed' } }]);
  });

  test('a stopping host leaves the message to others, however often it was delivered', async () => {
    const { batch } = await world.claimedBatch(1);
    const stopped = consume(batch, { lockToken: 'token', deliveryCount: 9 }, AbortSignal.abort());
    await expect(stopped).rejects.toThrow(BatchUnfinished);
    expect(dead).toEqual([]);
  });
});

describe('the lock of the message', () => {
  let bus: ServiceBusForTests;
  beforeAll(async () => {
    bus = await serviceBusForTests({ commands: { LockDuration: 'PT1M' } });
  });
  afterAll(() => bus[Symbol.asyncDispose]());

  /** Receives the next message as a host does, on its own connection. */
  async function received() {
    const host = bus.connect().createReceiver('commands', { maxAutoLockRenewalDurationInMs: 0 });
    const [message] = await host.receiveMessages(1, { maxWaitTimeInMs: 2_000 });
    if (message?.lockToken === undefined) throw new Error('nothing was received');
    return { host, message, lockToken: message.lockToken };
  }

  /** Processes the message as the app does, from its body and lock token alone. Its hasty clock renews often. */
  function work(
    { message, lockToken }: Awaited<ReturnType<typeof received>>,
    { duringFirstCall, renewals }: { duringFirstCall?: () => Promise<void>; renewals: LockRenewal['kind'][] },
  ) {
    const receiver = bus.client.createReceiver('commands');
    let first = true;
    const { provider, calls } = watchedProvider(world.provider, {
      async charge(request) {
        if (first) await duringFirstCall?.();
        first = false;
        return world.provider.charge(request);
      },
    });
    const { parts, policy } = world.consumer({ provider, instance: reporting(), concurrentCalls: 1 });
    const held = messages({
      async renew(token) {
        const renewal = await renewMessageLock(receiver, token);
        renewals.push(renewal.kind);
        return renewal;
      },
    });
    const execute = createExecutePayments({ ...parts, messages: held }, policy);
    const consumed = execute({ message: message.body, delivery: { lockToken, deliveryCount: 1 } });
    return { consumed, calls };
  }

  test('is kept while work goes on, for longer than it lasts', async () => {
    const { batch } = await world.claimedBatch(3);
    await bus.client.createSender('commands').sendMessages({ body: batch });
    const delivery = await received();
    const renewals: LockRenewal['kind'][] = [];
    const { consumed } = work(delivery, {
      renewals,
      async duringFirstCall() {
        for (let part = 1; part <= 4; part++) {
          bus.clock.advance(50_000);
          const before = renewals.length;
          // A renewal already in flight counts from before the advance, so wait for the second one from here.
          await expect.poll(() => renewals.length).toBeGreaterThan(before + 1);
        }
      },
    });
    expect(await consumed).toMatchObject({ settled: { paid: 3 } });
    expect(new Set(renewals)).toEqual(new Set(['renewed']));
    expect(await bus.stats('commands')).toMatchObject({ lockExpiries: 0, locked: 1 });
    await delivery.host.completeMessage(delivery.message);
  });

  test('when it is lost the work stops: completed calls are settled, the rest is left for the next delivery', async () => {
    const { batch, shard, ids } = await world.claimedBatch(4);
    await bus.client.createSender('commands').sendMessages({ body: batch });
    const renewals: LockRenewal['kind'][] = [];
    const { consumed, calls } = work(await received(), {
      renewals,
      async duringFirstCall() {
        await bus.setFault({ kind: 'expire-locks', queue: 'commands' });
        await expect.poll(() => renewals.at(-1)).toBe('lost');
      },
    });
    await expect(consumed).rejects.toThrow(`3 commands of batch ${batch.batchId} were not called`);
    expect(calls.charge).toHaveLength(1);
    expect(telemetry.values(metric.messageLockLost)).toEqual([1]);
    const statuses = async () => (await world.stored(shard, ids)).map(({ status }) => status);
    expect(await statuses()).toEqual(['paid', 'claimed', 'claimed', 'claimed']);

    const again = await received();
    expect(again.message.deliveryCount).toBe(1);
    const next = work(again, { renewals: [] });
    expect(await next.consumed).toMatchObject({ settled: { paid: 3 }, dropped: { settled: 1 } });
    await again.host.completeMessage(again.message);
    expect(next.calls.charge).toHaveLength(3);
    expect(await statuses()).toEqual(Array(4).fill('paid'));
    expect(await world.charges(ids)).toHaveLength(4);
  });
});
