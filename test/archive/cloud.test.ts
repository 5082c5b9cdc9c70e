// The archive through the SDKs of Azure: invoices in the local Cosmos, files in Azurite.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fileName } from '../../src/archive/archiveFile.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';
import { dayMs, paidInvoice } from './archiveWorld.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
  // The local Cosmos stamps documents with the time of the machine.
  ops.clock.stall(30 * 365 * dayMs);
});
afterAll(() => ops[Symbol.asyncDispose]());

const place = (id: string) => ({ id, shard: shardOf(id, 4) });
const paid = (id: string, changes: Partial<Invoice> = {}) => paidInvoice({ ...place(id), ...changes });
const get = async (id: string) => bodyOf(await ops.api.getInvoice(aRequest({ params: { id } })));
const post = (id: string, body: unknown, headers: Record<string, string> = {}) =>
  aRequest({ method: 'POST', params: { id }, body, headers: { ...principal, ...headers } });
const summary = async () => bodyOf(await ops.api.getSummary(aRequest())) as { invoices: object };
const report = async (query: Record<string, string>) => bodyOf(await ops.api.getReport(aRequest({ query })));
const archived = { archivedAt: expect.stringMatching(/^20\d\d-/) };

test('an invoice moves, is found with its timeline, and figures stay', async () => {
  await ops.store({ ...place('parked'), status: 'parked' });
  await ops.put(
    ...Array.from({ length: 200 }, (_, n) => paid(`moves-${n}`, { currency: n % 2 === 0 ? 'USD' : 'KWD' })),
  );
  const year = { from: '2024-01-01', to: '2024-12-31' };
  const before = { shown: await get('moves-7'), summary: await summary(), report: await report(year) };
  expect(await ops.archiveSettled()).toEqual({ moved: 200, kept: 0, changed: 0, complete: true });
  const { shown } = before;
  expect(await get('moves-7')).toEqual({ ...(shown as object), ...archived });
  expect(shown).toMatchObject({ archivedAt: null, timeline: [{ what: 'imported' }, { what: 'paid' }] });
  // An hour has passed.
  expect(await summary()).toEqual({ ...before.summary, backlog: expect.anything() as unknown });
  expect(await report(year)).toEqual(before.report);
  expect((await summary()).invoices).toMatchObject({ paid: 200, parked: 1 });
  expect(await get('parked')).toMatchObject({ status: 'parked', archivedAt: null });
});

describe('an archived invoice', () => {
  test('is not imported again, and one of its own id is refused', async () => {
    const { customerId, amountMinor, currency, dueAt, paymentMethod } = paidInvoice();
    const row = { id: 'moves-0', customerId, amountMinor, currency, dueAt, paymentMethod };
    const imported = await ops.api.importInvoices(
      aRequest({ method: 'POST', body: [row, { ...row, id: 'new' }], headers: principal }),
    );
    expect(bodyOf(imported)).toMatchObject({ created: 1, duplicates: 1, rejectedCount: 0 });
    const other = await ops.api.importInvoices(
      aRequest({ method: 'POST', body: [{ ...row, amountMinor: 500 }], headers: principal }),
    );
    expect(bodyOf(other)).toMatchObject({
      created: 0,
      rejected: [{ error: '"moves-0" is stored already with other content' }],
    });
  });

  test('is restored by a call, with an audit record, and only once', async () => {
    const response = await ops.api.restoreInvoice(post('moves-1', { reason: 'an auditor asks' }));
    expect(bodyOf(response)).toMatchObject({
      id: 'moves-1',
      archivedAt: null,
      timeline: [
        { what: 'imported' },
        { what: 'paid' },
        { what: 'restored from the archive', by: 'ada@example.com', reason: 'an auditor asks' },
      ],
    });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        action: 'restore invoice',
        target: 'moves-1',
        actor: 'ada@example.com',
        detail: { reason: 'an auditor asks', ...archived },
      }),
    );
    const again = await ops.api.restoreInvoice(post('moves-1', { reason: 'twice' }));
    expect(again.status).toBe(409);
    expect(bodyOf(again)).toMatchObject({
      detail: 'invoice "moves-1" is not in the archive: expected one that is',
    });
    expect((await ops.api.restoreInvoice(post('nobody', { reason: 'x' }))).status).toBe(404);
    expect((await ops.api.restoreInvoice(post('moves-2', {}))).status).toBe(400);
    expect((await summary()).invoices).toMatchObject({ paid: 200 });
  });

  test('is refunded: it is restored first', async () => {
    const response = await ops.api.refundInvoice(
      post('moves-2', { amountMinor: 100, reason: 'late' }, { 'idempotency-key': 'k' }),
    );
    expect(response.status).toBe(202);
    expect(await get('moves-2')).toMatchObject({
      archivedAt: null,
      reversals: { refundedMinor: 100 },
      timeline: [{}, {}, { what: 'restored from the archive', by: 'host-a' }, { what: 'refund requested' }],
    });
  });

  test('is told apart by its state: what is paid is neither retried nor voided, and stays in the archive', async () => {
    for (const call of [ops.api.retryInvoice, ops.api.voidInvoice]) {
      expect((await call(post('moves-3', { reason: 'try' }))).status).toBe(409);
    }
    expect(await get('moves-3')).toMatchObject(archived);
  });

  test('is retried, if it was declined', async () => {
    const { id: _, paidAt: __, ...payment } = paidInvoice().payment;
    await ops.put(
      paid('was-declined', { status: 'declined', payment, declinedAt: '2024-01-01T12:00:05.000Z' }),
    );
    await ops.archiveSettled();
    expect(await get('was-declined')).toMatchObject({ ...archived, actions: { retry: { allowed: true } } });
    const response = await ops.api.retryInvoice(post('was-declined', { reason: 'new card' }));
    expect(bodyOf(response)).toMatchObject({ status: 'pending', payment: { keyNumber: 2 } });
    expect(await get('was-declined')).toMatchObject({ status: 'pending', archivedAt: null });
  });

  test('whose file is gone is an error that names it', async () => {
    const { archivedAt } = (await get('moves-9')) as { archivedAt: string };
    const name = fileName({ shard: shardOf('moves-9', 4), archivedAt });
    await ops.archiveBlobs.getBlockBlobClient(name).delete();
    expect(await get('moves-9')).toMatchObject({
      status: 500,
      detail: `invoice "moves-9" has moved to the archive, but is not in its file ${name}`,
    });
  });

  test('moves again, into another file, once nothing has changed for as long', async () => {
    ops.clock.stall(401 * dayMs);
    expect(await ops.archiveSettled()).toMatchObject({ moved: 1 });
    expect(await get('moves-1')).toMatchObject({
      ...archived,
      timeline: [{}, {}, { what: 'restored from the archive' }],
    });
    expect((await summary()).invoices).toMatchObject({ paid: 200 });
  });
});
