import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cosmosInvoiceStore } from '../../../src/invoice/store/cosmosInvoiceStore.ts';
import { decideBulkRetry, voidPiece } from '../../../src/ops/bulk/bulkInvoices.ts';
import type { BulkRequest } from '../../../src/ops/bulk/bulkRequest.ts';
import { anInvoice } from '../../support/anInvoice.ts';
import { correctionParts } from '../../support/correctionParts.ts';
import { isFull } from '../../support/onlyInFull.ts';
import { virtualClock } from '../../support/virtualClock.ts';
import { at, type BulkWorld, bulkWorld } from './bulkWorld.ts';

/** Numbers of writes after which a process is killed: every third in `npm test`. */
const killPoints = (below: number) =>
  Array.from({ length: below }, (_, writes) => writes).filter((writes) => isFull || writes % 3 === 0);

let world: BulkWorld;
beforeEach(async () => {
  world = await bulkWorld();
});
afterEach(() => world[Symbol.asyncDispose]());

const who = { actor: 'ada', reason: 'the outage is over' };
const retryParked: BulkRequest = { action: 'retry', filter: { status: 'parked' }, ...who };
const payment = { keyNumber: 1, keyCreatedAt: '2026-01-01T11:00:00.000Z', declines: 0, deferrals: 0 };
const parked = (id: string) => ({ id, status: 'parked' as const, reason: 'no answer', attempts: 5, payment });
const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}-${String(n).padStart(3, '0')}`);

/** Counts the retries of each invoice by this run. */
async function retries(names: readonly string[], runId: string): Promise<number[]> {
  const stored = await world.invoicesOf(names);
  return stored.map(({ timeline }) => timeline.filter((entry) => entry.runId === runId).length);
}

describe('a bulk retry', () => {
  test('puts back what matches, says who and why in each timeline, and leaves the rest alone', async () => {
    const names = ids('inv', 120);
    await world.invoices(...names.map(parked));
    await world.invoices({ ...parked('other'), reason: 'card expired' }, { id: 'pending-1' });
    const request: BulkRequest = { ...retryParked, filter: { status: 'parked', reason: 'NO ANSWER' } };
    const { runId, record } = await world.run(request);
    expect(record).toMatchObject({ status: 'completed', counts: { retried: 120 } });
    expect(await retries(names, runId)).toEqual(names.map(() => 1));
    expect(await world.invoice('inv-007')).toMatchObject({
      status: 'pending',
      attempts: 0,
      payment,
      timeline: [{}, { what: 'retried', by: 'ada', reason: 'the outage is over', from: 'parked', runId }],
    });
    expect((await world.invoice('other')).status).toBe('parked');
    const audited = await world.audited(runId);
    expect(new Set(audited.map(({ actor, action }) => `${actor}: ${action}`))).toEqual(
      new Set(['ada: bulk retry']),
    );
    expect(audited.every(({ detail }) => detail.reason === 'the outage is over')).toBe(true);
    const named = audited.flatMap(({ detail }) => String(detail.ids).split(' '));
    expect(named.toSorted()).toEqual(names);
  });

  test('a dry run counts, adds up the amounts, and changes nothing', async () => {
    await world.invoices(...ids('inv', 70).map(parked));
    const { record, runId } = await world.run(retryParked, { dryRun: true });
    expect(record).toMatchObject({
      status: 'completed',
      counts: { matching: 70, 'amountMinor.USD': 139_930 },
    });
    expect((await world.invoice('inv-003')).status).toBe('parked');
    expect(await world.audited(runId)).toEqual([]);
  });

  test('never changes more than the cap', async () => {
    const names = ids('inv', 130);
    await world.invoices(...names.map(parked));
    const { record, runId } = await world.run({ ...retryParked, cap: 75 });
    expect(record?.counts).toEqual({ retried: 75 });
    expect((await retries(names, runId)).filter((count) => count === 1)).toHaveLength(75);
  });

  test('is narrowed by customer, currency, due date and by since when', async () => {
    await world.invoices(
      { ...parked('a'), customerId: 'cus-a' },
      { ...parked('b'), currency: 'EUR' },
      { ...parked('c'), dueAt: '2025-06-01T00:00:00.000Z' },
      { ...parked('d'), timeline: [{ at: '2026-01-01T23:00:00.000Z', what: 'parked', by: 'host-a' }] },
    );
    const cases: [BulkRequest['filter'], string[]][] = [
      [{ status: 'parked', customer: 'cus-a' }, ['a']],
      [{ status: 'parked', currency: 'EUR' }, ['b']],
      [{ status: 'parked', dueBefore: '2025-07-01T00:00:00.000Z' }, ['c']],
      [{ status: 'parked', after: '2026-01-01T22:00:00.000Z' }, ['d']],
      [{ status: 'parked', before: '2026-01-01T00:00:00.000Z' }, ['a', 'b', 'c']],
    ];
    for (const [filter, expected] of cases) {
      const { record } = await world.run({ ...retryParked, filter } as BulkRequest, { dryRun: true });
      expect(record?.counts.matching).toBe(expected.length);
    }
  });

  test('makes what waits for a later try due now, with its attempts as they are', async () => {
    const waiting = {
      status: 'pending' as const,
      attempts: 2,
      dueAt: '2026-01-01T00:00:00.000Z',
      actionableAt: '2026-01-05T00:00:00.000Z',
      timeline: [
        {
          at: '2026-01-01T12:00:00.000Z',
          what: 'retry: declined',
          by: 'host-a',
          reason: 'insufficient_funds: no',
        },
      ],
    };
    await world.invoices(
      { id: 'waits', ...waiting },
      {
        id: 'early',
        ...waiting,
        dueAt: '2026-03-01T00:00:00.000Z',
        actionableAt: '2026-03-01T00:00:00.000Z',
      },
      { id: 'due', ...waiting, actionableAt: '2026-01-01T00:00:00.000Z' },
    );
    const filter = { status: 'pending' as const, reason: 'insufficient_funds' };
    const { record, runId } = await world.run({ ...retryParked, filter });
    expect(record?.counts).toEqual({ retried: 1 });
    const hurried = await world.invoice('waits');
    expect(hurried).toMatchObject({ status: 'pending', attempts: 2 });
    expect(hurried.actionableAt?.slice(0, 10)).toBe('2026-01-02');
    expect(hurried.timeline.at(-1)).toMatchObject({ what: 'made due now', runId });
    expect((await world.invoice('early')).actionableAt).toBe('2026-03-01T00:00:00.000Z');
  });

  test('wherever its process is killed, each invoice is retried once, counted once, and in the audit', async () => {
    for (const writes of killPoints(24)) {
      const names = ids(`k${writes}-${randomUUID().slice(0, 4)}`, 110);
      await world.invoices(...names.map(parked));
      const killedAfter = [writes, writes % 5];
      const { runId, record, stored } = await world.run(retryParked, { killedAfter });
      expect(record?.status).toBe('completed');
      expect(stored?.groups.invoices).toMatchObject({ status: 'completed', counts: { retried: 110 } });
      expect(stored?.groups.invoices?.inHand).toBeUndefined();
      expect(await retries(names, runId)).toEqual(names.map(() => 1));
      const audited = await world.audited(runId);
      const named = new Set(audited.flatMap(({ detail }) => String(detail.ids).split(' ')));
      expect([...named].toSorted()).toEqual(names);
    }
  }, 120_000);

  test('names each invoice in the journal before it is changed, and changes none without it', async () => {
    const names = ids('inv', 50);
    await world.invoices(...names.map(parked));
    world.journal.away = true;
    const refused = await world.run(retryParked);
    expect(refused.record?.status).toBe('failed');
    expect(await retries(names, refused.runId)).toEqual(names.map(() => 0));
    world.journal.away = false;
    // Killed before its first write to the database, which is the record of the piece; then before the change.
    const { runId } = await world.run(retryParked, { killedAfter: [2] });
    const lines = world.journal.lines.filter((line) => 'target' in line && line.changes.runId === runId);
    expect(lines[0]).toMatchObject({
      actor: 'ada',
      action: 'bulk retry',
      changes: { reason: 'the outage is over', runId },
    });
    expect(new Set(lines.map((line) => ('target' in line ? line.target : '')))).toEqual(new Set(names));
  });
});

test('an invoice that is parked again is not retried again by the same run', () => {
  const filter = { status: 'parked' as const };
  const run = { ...who, runId: 'run-1', at };
  const entry = { at, what: 'retried', by: 'ada', runId: 'run-1' };
  const again = anInvoice({ ...parked('inv-1'), timeline: [entry, { at, what: 'parked', by: 'host-a' }] });
  expect(decideBulkRetry(again, filter, run)).toEqual({ kind: 'refuse', why: 'retried' });
  expect(decideBulkRetry(again, filter, { ...run, runId: 'run-2' }).kind).toBe('change');
  const paid = anInvoice({ status: 'paid' });
  expect(decideBulkRetry(paid, filter, run)).toEqual({ kind: 'refuse', why: 'changed' });
});

test('a bulk void voids what was never charged, and counts the rest by why not', async () => {
  await world.invoices({ id: 'v-1' }, { id: 'v-2' }, { ...parked('v-3') });
  const request: BulkRequest = { action: 'void', filter: { status: 'pending' }, ...who };
  const { record } = await world.run(request);
  expect(record?.counts).toEqual({ voided: 2 });
  expect((await world.invoice('v-1')).status).toBe('voided');
  expect((await world.invoice('v-3')).status).toBe('parked');
});

test('a bulk void that goes on after its host has died leaves alone what changed meanwhile', async () => {
  const undone = [
    { at, what: 'voided', by: 'ada', runId: 'run-1' },
    { at, what: 'void undone', by: 'ben' },
  ];
  await world.invoices({ id: 'v-4', timeline: undone }, { ...parked('v-5') }, { id: 'v-6' });
  const clock = virtualClock(Date.parse(at));
  const invoices = cosmosInvoiceStore(world.cosmos.containers.invoices, { clock, shards: 4 });
  const parts = correctionParts({ invoices, clock });
  const piece = { kind: 'invoices' as const, shard: '', ids: ['v-4', 'v-5', 'v-6'] };
  const done = await voidPiece(
    parts,
    piece,
    { status: 'pending' },
    { ...who, runId: 'run-1', assertHeld() {} },
  );
  expect(done.counts).toEqual({ voided: 2, changedMeanwhile: 1 });
  expect(done.refused).toEqual([{ id: 'v-5', why: 'it has changed meanwhile, and no longer matches' }]);
  expect((await world.invoice('v-4')).status).toBe('pending');
  expect((await world.invoice('v-6')).status).toBe('voided');
});

describe('messages of the outbox', () => {
  const redrive: BulkRequest = { action: 'redrive', filter: { from: 'outbox' }, ...who };

  test('wherever the process is killed, each is redriven once and counted once', async () => {
    for (const writes of killPoints(12)) {
      const names = ids(`m${writes}`, 60);
      await world.parkedMessages(...names);
      const { runId, stored } = await world.run(redrive, { killedAfter: [writes * 7, 3] });
      expect(stored?.groups.messages).toMatchObject({ status: 'completed', counts: { redriven: 60 } });
      for (const id of names)
        expect(await world.message(id)).toMatchObject({ status: 'pending', redrivenBy: runId });
    }
  }, 120_000);

  test('are narrowed by queue and reason, and discarded with who and why', async () => {
    await world.parkedMessages(...ids('d', 3));
    const filter = { from: 'outbox' as const, queue: 'work-items' as const, reason: 'AWAY' };
    const none = { ...filter, queue: 'payment-commands' as const };
    expect((await world.run({ action: 'discard', filter: none, ...who })).record?.counts).toEqual({});
    const { record } = await world.run({ action: 'discard', filter, ...who });
    expect(record?.counts).toEqual({ discarded: 3 });
    expect(await world.message('d-001')).toMatchObject({
      status: 'dispatched',
      discarded: { by: 'ada', reason: 'the outage is over' },
    });
  });
});

describe('dead letters', () => {
  const filter = { from: 'dead-letters' as const };

  test('wherever the process is killed, each is sent again once, and counted once', async () => {
    for (const writes of killPoints(10)) {
      const names = ids(`l${writes}`, 120);
      world.deadLetters(...names);
      world.sent.length = 0;
      const killedAfter = [writes * 13, 30];
      const { stored } = await world.run({ action: 'redrive', filter, ...who }, { killedAfter });
      expect(stored?.groups.messages).toMatchObject({ status: 'completed', counts: { redriven: 120 } });
      expect(world.sent.toSorted()).toEqual(names);
    }
  }, 120_000);

  test('those that are never received end the run, which says how many they are', async () => {
    world.deadLetters(...ids('near', 7));
    world.deadLettersOutOfReach(...ids('far', 3));
    const { record } = await world.run({ action: 'redrive', filter, ...who });
    expect(record).toMatchObject({ status: 'completed', counts: { redriven: 7, outOfReach: 3 } });
    world.letters.clear();
  });

  test('one that fails again is sent once: what comes back is left to another run', async () => {
    world.deadLetters(...ids('good', 5));
    world.deadLettersThatComeBack(...ids('bad', 3));
    world.sent.length = 0;
    const { record } = await world.run({ action: 'redrive', filter, ...who });
    expect(record).toMatchObject({ status: 'completed', counts: { redriven: 8 } });
    expect(world.sent).toHaveLength(8);
    expect(world.letters.size).toBe(3);
    world.letters.clear();
  });

  test('a dry run counts each once', async () => {
    world.deadLetters(...ids('dry', 620));
    const { record } = await world.run({ action: 'redrive', filter, ...who }, { dryRun: true });
    expect(record).toMatchObject({ status: 'completed', counts: { matching: 620 } });
    world.letters.clear();
  });

  test('are discarded', async () => {
    world.deadLetters(...ids('x', 5));
    const { record, runId } = await world.run({ action: 'discard', filter, ...who });
    expect(record?.counts).toEqual({ discarded: 5 });
    expect(world.letters.size).toBe(0);
    expect((await world.audited(runId))[0]).toMatchObject({
      actor: 'ada',
      action: 'bulk discard',
      detail: { reason: 'the outage is over', discarded: 5 },
    });
  });
});
