import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FencedOut, newFence } from '../../packages/jobs/src/claims/fence.ts';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { type Clock, systemClock } from '../../packages/leases/src/clock.ts';
import { type ClaimingRun, claimBatch, noClaims } from '../../src/claiming/claimBatch.ts';
import { newStanding } from '../../src/invoice/counters/counters.ts';
import { type Invoice, invoiceSchema, maxAttempts } from '../../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { newInvoice } from '../../src/invoice/store/invoiceWrites.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { aRun, followUpsForTests, hastyClock } from '../support/payingWorld.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const clock = { ...systemClock, sleep: async () => {} };
const claimStaleMs = 300_000;

let shardNumber = 0;

/** Stores `count` due invoices in their own shard and reads them as a run does. */
async function dueInvoices(
  count: number,
  changes: Partial<Invoice> = {},
): Promise<{ shard: string; page: Invoice[] }> {
  const shard = (shardNumber++).toString(16).padStart(2, '0');
  for (let n = 0; n < count; n++) {
    const content = {
      id: `inv-${n}`,
      customerId: 'c',
      amountMinor: 100 + n,
      currency: 'USD',
      dueAt: '2026-01-01T00:00:00.000Z',
      paymentMethod: 'pm',
    };
    const invoice = newInvoice(content, { shard, at: '2025-12-01T00:00:00.000Z', by: 'test' });
    await cosmos.containers.invoices.items.create({ ...invoice, ...changes });
  }
  return { shard, page: await readDue(shard) };
}

async function readDue(shard: string): Promise<Invoice[]> {
  const pages = parts().invoices.due({ shard, now: new Date().toISOString(), pageSize: 100 });
  return (await Array.fromAsync(pages)).flat();
}

/** Builds the parts that `claimBatch` needs, with the given staleness (ms) and clock. */
function parts(staleMs = claimStaleMs, by: Clock = clock) {
  const invoices = cosmosInvoiceStore(cosmos.containers.invoices, { clock: by, shards: 1 });
  return { invoices, followUps: followUpsForTests, claimStaleMs: staleMs };
}

function claim(shard: string, page: Invoice[], run: ClaimingRun = aRun()) {
  return claimBatch(parts(), shard, page, run);
}

/** Creates the fence and the counters, so that the first try of a claim is applied. */
async function fenced(shard: string) {
  const { lease } = aRun();
  await cosmosDocuments(cosmos.containers.invoices).transact(shard, [
    newFence(lease.key, shard),
    { kind: 'create', document: newStanding(shard, clock.now()) },
  ]);
}

async function stored(shard: string, page: Invoice[]): Promise<Invoice[]> {
  const ids = page.map(({ id }) => id);
  const documents = await cosmosDocuments(cosmos.containers.invoices).read(shard, ids);
  return documents.map((document) => invoiceSchema.parse(document));
}

describe('claimBatch', () => {
  test('claims a batch and stores its outbox message in the same transaction', async () => {
    const { shard, page } = await dueInvoices(20);
    const { counts, message } = await claim(shard, page);
    expect(counts).toEqual({ ...noClaims, claimed: 20 });
    const invoices = await stored(shard, page);
    expect(new Set(invoices.map((invoice) => invoice.claim?.batchId))).toEqual(new Set([message?.id]));
    expect(invoices.every(({ status, attempts }) => status === 'claimed' && attempts === 1)).toBe(true);
    expect(await readDue(shard)).toEqual([]);
    const batch = paymentBatchSchema.parse(message?.body);
    expect(batch.commands.map(({ invoiceId, amountMinor }) => [invoiceId, amountMinor])).toEqual(
      page.map(({ id, amountMinor }) => [id, amountMinor]),
    );
    const { resource } = await cosmos.containers.invoices.item(message?.id ?? '', shard).read();
    expect(resource).toMatchObject({
      type: 'outboxMessage',
      status: 'pending',
      destination: 'payment-commands',
    });
  });

  test('one contended invoice does not hold up the batch', async () => {
    const { shard, page } = await dueInvoices(10);
    await cosmos.containers.invoices
      .item('inv-3', shard)
      .patch([{ op: 'set', path: '/reason', value: 'touched' }]);
    const { counts, message } = await claim(shard, page);
    expect(counts).toMatchObject({ claimed: 9, contended: 1 });
    expect(paymentBatchSchema.parse(message?.body).commands.map(({ invoiceId }) => invoiceId)).not.toContain(
      'inv-3',
    );
  });

  test('two runs read the same page: each invoice is claimed by one of them', async () => {
    const { shard, page } = await dueInvoices(30);
    const results = await Promise.all([claim(shard, page), claim(shard, page, aRun({ instance: 'host-b' }))]);
    expect(results.reduce((sum, { counts }) => sum + counts.claimed, 0)).toBe(30);
    const commands = results.flatMap(({ message }) =>
      message === undefined ? [] : paymentBatchSchema.parse(message.body).commands,
    );
    expect(new Set(commands.map(({ invoiceId }) => invoiceId)).size).toBe(30);
  });

  test('two runs see the same stale claims: each is taken over by one of them', async () => {
    const { shard, page } = await dueInvoices(10);
    await claimBatch(parts(-1), shard, page, aRun());
    const stale = await readDue(shard);
    const results = await Promise.all([
      claim(shard, stale),
      claim(shard, stale, aRun({ instance: 'host-b' })),
    ]);
    expect(results.reduce((sum, { counts }) => sum + counts.reclaimed, 0)).toBe(10);
    for (const { timeline } of await stored(shard, page)) {
      expect(timeline.filter(({ what }) => what === 'reclaimed')).toHaveLength(1);
    }
  });

  test('a batch whose answer was lost is resolved by rereading', async () => {
    const { shard, page } = await dueInvoices(5);
    await fenced(shard);
    await cosmos.fault({
      kind: 'reset-after',
      count: 4,
      filter: { operation: 'batch', partitionKey: shard },
    });
    const { counts, message } = await claim(shard, page);
    expect(counts.claimed).toBe(5);
    expect((await stored(shard, page)).every((invoice) => invoice.claim?.batchId === message?.id)).toBe(true);
  });

  test('a batch that only parked is resolved by rereading too, and every parked invoice is counted', async () => {
    const { shard, page } = await dueInvoices(3, { attempts: maxAttempts });
    await fenced(shard);
    const filter = { operation: 'batch', partitionKey: shard };
    await cosmos.fault({ kind: 'reset-after', count: 4, filter });
    expect(await claim(shard, page)).toEqual({ counts: { ...noClaims, parked: 3 } });
    await cosmos.clearFaults();
    for (const { status, timeline } of await stored(shard, page)) {
      expect(status).toBe('parked');
      expect(timeline.filter(({ what }) => what === 'parked')).toHaveLength(1);
    }
  });

  test('a batch whose invoices are settled before the reread still counts as claimed', async () => {
    const { shard, page } = await dueInvoices(2);
    const { invoices } = cosmos.containers;
    await fenced(shard);
    await cosmos.fault({
      kind: 'reset-after',
      count: 2,
      filter: { operation: 'batch', partitionKey: shard },
    });
    const settling = {
      ...hastyClock,
      async sleep() {
        for (const { id, claim } of await stored(shard, page)) {
          if (claim === undefined) continue;
          await invoices.item(id, shard).patch([
            { op: 'set', path: '/status', value: 'paid' },
            { op: 'remove', path: '/claim' },
          ]);
        }
      },
    };
    const { counts } = await claimBatch(parts(1_000, settling), shard, page, aRun());
    expect(counts).toEqual({ ...noClaims, claimed: 2 });
    expect((await stored(shard, page)).map(({ status }) => status)).toEqual(['paid', 'paid']);
  });

  test('a batch that was never applied is retried', async () => {
    const { shard, page } = await dueInvoices(5);
    await cosmos.fault({ kind: '503', count: 2, filter: { operation: 'batch', partitionKey: shard } });
    expect((await claim(shard, page)).counts.claimed).toBe(5);
  });

  test('a smaller fence token than the store has seen is refused, and nothing is written', async () => {
    const { shard, page } = await dueInvoices(4);
    await claim(shard, page.slice(0, 2), aRun({ lease: { fence: 7 } }));
    await expect(claim(shard, page.slice(2), aRun({ lease: { fence: 6 } }))).rejects.toThrow(FencedOut);
    expect((await stored(shard, page.slice(2))).every(({ status }) => status === 'pending')).toBe(true);
    expect((await claim(shard, page.slice(2), aRun({ lease: { fence: 8 } }))).counts.claimed).toBe(2);
  });

  test('a lost lease stops the claim before it writes', async () => {
    const { shard, page } = await dueInvoices(2);
    const lost = aRun({
      lease: {
        assertHeld() {
          throw new Error('lost');
        },
      },
    });
    await expect(claim(shard, page, lost)).rejects.toThrow('lost');
    expect((await stored(shard, page)).every(({ status }) => status === 'pending')).toBe(true);
  });

  test('an outage that also covers the reread is outlasted', async () => {
    const { shard, page } = await dueInvoices(3);
    await cosmos.fault({ kind: '503', count: 8, filter: { partitionKey: shard } });
    expect((await claim(shard, page)).counts).toMatchObject({ claimed: 3, contended: 0 });
    expect((await stored(shard, page)).every(({ status }) => status === 'claimed')).toBe(true);
  });

  test('stale claims are taken over with the same key, and parked after the last attempt', async () => {
    const payment = {
      keyNumber: 2,
      keyCreatedAt: '2026-01-01T00:00:00.000Z',
      paramsHash: 'h',
      declines: 1,
      deferrals: 0,
    };
    const claimed = {
      status: 'claimed' as const,
      actionableAt: '2026-01-01T00:05:00.000Z',
      claim: {
        batchId: 'old',
        by: 'host-dead',
        runId: 'r',
        fence: 1,
        attempt: 1,
        at: '2026-01-01T00:00:00.000Z',
        phase: 'calling' as const,
      },
      payment,
    };
    const stale = await dueInvoices(1, { ...claimed, attempts: 1 });
    const { counts, message } = await claim(stale.shard, stale.page);
    expect(counts).toMatchObject({ claimed: 0, reclaimed: 1 });
    expect(paymentBatchSchema.parse(message?.body).commands[0]).toMatchObject({
      attempt: 2,
      payment: { ...payment, unknownSince: claimed.claim.at },
    });
    const [taken] = await stored(stale.shard, stale.page);
    expect(taken?.timeline.at(-1)).toMatchObject({ what: 'reclaimed', from: 'host-dead', attempt: 2 });

    const hopeless = await dueInvoices(1, { ...claimed, attempts: maxAttempts });
    const result = await claim(hopeless.shard, hopeless.page);
    expect(result).toEqual({ counts: { ...noClaims, parked: 1 } });
    const [parked] = await stored(hopeless.shard, hopeless.page);
    expect(parked).toMatchObject({
      status: 'parked',
      reason: expect.stringMatching(
        `^${maxAttempts} attempts ended without a known outcome, the last one alone: paying it may crash the process; retry it`,
      ),
      payment: { ...payment, unknownSince: claimed.claim.at },
    });
    expect(parked).not.toHaveProperty('claim');
  });

  test('a queue that delivers nothing for hours: claims keep going stale, and no invoice is parked', async () => {
    const { shard, page } = await dueInvoices(2);
    let due = page;
    for (let claims = 0; claims < 3 * maxAttempts; claims++) {
      const { message } = await claimBatch(parts(-1), shard, due, aRun());
      const { commands } = paymentBatchSchema.parse(message?.body);
      expect(commands.map(({ attempt }) => attempt)).toEqual([1, 1]);
      due = await readDue(shard);
    }
    for (const invoice of due) expect(invoice).toMatchObject({ status: 'claimed', attempts: 1 });
    for (const { payment } of due) expect(payment).not.toHaveProperty('unknownSince');
  });
});
