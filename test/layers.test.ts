/**
 * Lease, claim and idempotency key each stand between an invoice and a second charge. Two instances' timers fire
 * at the same moment for the same due invoices, and two consumers pay what was sent, with every combination of
 * layers present or removed. Any one layer is enough. With none the customer pays twice, so the test would see a
 * double charge.
 *
 * The progress of the second instance shows which layer stopped it, so no layer hides behind another.
 */
import pLimit from 'p-limit';
import { describe, expect, test } from 'vitest';
import { newFence } from '../packages/jobs/src/claims/fence.ts';
import { cosmosDocuments } from '../packages/jobs/src/documents/cosmosDocuments.ts';
import { createDispatcher, createSender, type SendMessages } from '../packages/jobs/src/outbox/dispatcher.ts';
import type { OutboxMessage } from '../packages/jobs/src/outbox/outboxMessage.ts';
import { cosmosRunStore } from '../packages/jobs/src/runs/cosmosRunStore.ts';
import { runScheduled } from '../packages/jobs/src/runs/runScheduled.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { jobLockKey, type Locks } from '../packages/leases/src/index.ts';
import { processInvoicesJob } from '../src/claiming/processInvoices.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { sendingStore } from '../src/invoice/store/invoiceWrites.ts';
import { type PaymentBatch, paymentBatchSchema } from '../src/paying/paymentBatch.ts';
import { anInstance } from './support/anInstance.ts';
import {
  everybodyHolds,
  type Layer,
  neverTheSameKey,
  unconditional,
  withBatch,
} from './support/layerSwitches.ts';
import {
  followUpsForTests,
  hastyClock,
  minute,
  type PayingWorld,
  payingWorld,
  shards,
} from './support/payingWorld.ts';
import { fastPayments, plentyOfRoom } from './support/plentyOfRoom.ts';
import { virtualLocks } from './support/virtualLocks.ts';

describe('two timers fire at the same moment', () => {
  /**
   * By the first remaining layer: the runs that got to work, then messages, calls and charges per invoice.
   */
  const traces = {
    lease: { runs: 1, messages: 1, calls: 1, charges: 1 },
    claim: { runs: 2, messages: 1, calls: 1, charges: 1 },
    key: { runs: 2, messages: 2, calls: 2, charges: 1 },
    nobody: { runs: 2, messages: 2, calls: 2, charges: 2 },
  };

  test.each<{ without: Layer[]; stoppedBy: keyof typeof traces }>([
    { without: [], stoppedBy: 'lease' },
    { without: ['claim'], stoppedBy: 'lease' },
    { without: ['key'], stoppedBy: 'lease' },
    { without: ['claim', 'key'], stoppedBy: 'lease' },
    { without: ['lease'], stoppedBy: 'claim' },
    { without: ['lease', 'key'], stoppedBy: 'claim' },
    { without: ['lease', 'claim'], stoppedBy: 'key' },
    { without: ['lease', 'claim', 'key'], stoppedBy: 'nobody' },
  ])('without $without: the second is stopped by $stoppedBy', async ({ without, stoppedBy }) => {
    await using world = await payingWorld();
    const { shard, ids } = await world.dueInvoices(3);
    const { runs, batches } = await fireTimers(world, shard, without);
    const calls = await consume(world, batches, without);

    const { charges, ...way } = traces[stoppedBy];
    const ledger = await world.charges(ids);
    expect(perInvoice(ids, ledger)).toEqual(ids.map(() => charges));
    const commanded = batches.flatMap(({ commands }) => commands);
    expect({ runs, messages: perInvoice(ids, commanded), calls: perInvoice(ids, calls) }).toEqual({
      runs: way.runs,
      messages: ids.map(() => way.messages),
      calls: ids.map(() => way.calls),
    });
    // Even without the claim: the second consumer to settle finds nothing left to settle.
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(ids.map(() => 'paid'));
  });
});

/**
 * Both consumers hold the same claim, so it admits both. The lease plays no part here: the key stands alone.
 */
describe('both consumers have the same message at the same moment', () => {
  test.each<{ without: Layer[]; charges: number }>([
    { without: [], charges: 1 },
    { without: ['claim'], charges: 1 },
    { without: ['key'], charges: 2 },
  ])('without $without: charged $charges times', async ({ without, charges }) => {
    await using world = await payingWorld();
    // One invoice: more of them the second delivery would call again in parts, one after the other.
    const { batch, shard, ids } = await world.claimedBatch(1);
    const calls = await consume(world, [batch, batch], without);
    expect(perInvoice(ids, calls)).toEqual(ids.map(() => 2));
    expect(perInvoice(ids, await world.charges(ids))).toEqual(ids.map(() => charges));
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(ids.map(() => 'paid'));
  });
});

/**
 * Two instances tick. A run that gets to work has read the due invoices before any claim is written; a run that
 * finds the lease held does so while the holder is at work.
 */
async function fireTimers(
  { cosmos, telemetry }: PayingWorld,
  shard: string,
  without: readonly Layer[],
): Promise<{ runs: number; batches: PaymentBatch[] }> {
  const first = virtualLocks();
  const second = virtualLocks({}, first);
  const sent: OutboxMessage[] = [];
  const send: SendMessages = async (messages) => {
    sent.push(...messages);
    return messages.map(() => ({ kind: 'sent' }));
  };
  // As from the second run on: the fence exists, so the first try of a claim is the one that counts.
  const { invoices, runs } = cosmos.containers;
  const lockKey = jobLockKey('process-invoices', '0');
  await cosmosDocuments(invoices).transact(shard, [newFence(lockKey, shard)]);

  const meetings = rendezvous(2);
  const ticks = await Promise.all([tick('host-a', first.locks), tick('host-b', second.locks)]);
  return {
    runs: ticks.filter(({ groups }) => groups['0']?.status === 'completed').length,
    batches: sent.map(({ body }) => paymentBatchSchema.parse(body)),
  };

  function tick(name: string, locks: Locks) {
    const meet = meetings.join();
    const container = withBatch(
      without.includes('claim') ? unconditional(invoices) : invoices,
      (write) =>
        async (...args) => {
          await meet();
          return write(...args);
        },
    );
    const destinations = { 'payment-commands': send, 'work-items': send };
    const instance = anInstance({ name, clock: hastyClock, telemetry });
    const sender = createSender(
      createDispatcher({ documents: cosmosDocuments(container), destinations, instance }),
      hastyClock,
    );
    const job = processInvoicesJob(
      {
        ...plentyOfRoom,
        invoices: sendingStore(cosmosInvoiceStore(container, { clock: hastyClock, shards }), sender),
        followUps: followUpsForTests,
        instance,
        async checkShards() {},
      },
      {
        shards: 1,
        groups: 1,
        batchSize: 50,
        claimStaleMs: 5 * minute,
        callWindowMs: 210_000,
        ceiling: fastPayments,
      },
    );
    return runScheduled(job, {
      locks: without.includes('lease') ? everybodyHolds : locks,
      runs: cosmosRunStore(runs),
      instance: { ...instance, clock: systemClock },
    }).finally(() => void meet());
  }
}

/**
 * Pays the batches in parallel, each with its own consumer. All have started, and are about to call, before any of them
 * does; calls go one at a time, so that no outcome depends on which answer comes first. Returns the calls made.
 */
async function consume(
  world: PayingWorld,
  batches: readonly PaymentBatch[],
  without: readonly Layer[],
): Promise<{ invoiceId: string }[]> {
  const calls: { invoiceId: string }[] = [];
  const provider = without.includes('key') ? neverTheSameKey(world.provider) : world.provider;
  const limit = pLimit(1);
  const meetings = rendezvous(batches.length);
  const calling = rendezvous(batches.length);
  await Promise.all(batches.map((batch) => work(batch)));
  return calls;

  function work(batch: PaymentBatch) {
    const meet = meetings.join();
    const meetCalling = calling.join();
    const container = withBatch(
      without.includes('claim') ? unconditional(world.container) : world.container,
      (write) =>
        async (...args) => {
          const answer = await write(...args);
          await meet();
          return answer;
        },
    );
    const { pay } = world.consumer({
      invoices: cosmosInvoiceStore(container, { clock: hastyClock, shards }),
      provider: {
        ...provider,
        async charge(request) {
          await meetCalling();
          return limit(() => {
            calls.push(request);
            return provider.charge(request);
          });
        },
      },
    });
    return pay(batch).finally(() => {
      void meet();
      void meetCalling();
    });
  }
}

/** Counts the rows of each invoice. */
function perInvoice(ids: readonly string[], rows: readonly { invoiceId: string }[]): number[] {
  return ids.map((id) => rows.filter(({ invoiceId }) => invoiceId === id).length);
}

/**
 * Each of `parties` joins and gets a function that waits until all have arrived. Arriving once counts for every
 * later call.
 */
function rendezvous(parties: number) {
  const complete = Promise.withResolvers<void>();
  let missing = parties;
  return {
    join(): () => Promise<void> {
      let here = false;
      return () => {
        if (!here) missing--;
        here = true;
        if (missing === 0) complete.resolve();
        return complete.promise;
      };
    },
  };
}
