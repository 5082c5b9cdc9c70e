import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import { customers } from '../../src/archive/customers.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { reversalsOf } from '../../src/invoice/reversals.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { customerHash } from '../../src/ops/customerCalls.ts';
import { dayMs, paidInvoice } from '../archive/archiveWorld.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeEach(async () => {
  ops = await opsForTests();
  // The local Cosmos stamps documents with the time of the machine.
  ops.clock.stall(30 * 365 * dayMs);
});
afterEach(() => ops[Symbol.asyncDispose]());

const person = 'cus_Zoe_Muster';
/** Everything about the person that must be gone, wherever it was. */
const personal = [person, 'pm_of_zoe', 'lessons for Zoe', 'Zoe called us', 'pm_retried'];

/** A paid invoice of the person, with something personal wherever there is room for it. */
function hers(id: string, changes: Partial<Invoice> = {}): Invoice {
  const invoice = paidInvoice({ id, shard: shardOf(id, 4) });
  return {
    ...invoice,
    customerId: person,
    description: 'lessons for Zoe',
    paymentMethod: 'pm_of_zoe',
    payment: { ...invoice.payment, method: { id: 'pm_retried', from: 'retry' } },
    timeline: [
      ...invoice.timeline,
      {
        at: '2024-01-02T00:00:00.000Z',
        what: 'refunded',
        by: 'ada',
        reason: 'Zoe called us',
        amountMinor: 5,
      },
    ],
    reversals: reversalsOf(
      [
        {
          id: 'rf_1',
          amountMinor: 5,
          status: 'succeeded',
          at: '2024-01-02T00:00:00.000Z',
          reason: 'Zoe called us',
        },
      ],
      [],
    ),
    ...changes,
  };
}

const customerCall = (name: 'exportCustomer' | 'eraseCustomer', customerId = person) =>
  ops.api[name](
    aRequest({ method: 'POST', headers: principal, body: { customerId, reason: 'request of the person' } }),
  );
const erase = async (customerId?: string) => bodyOf(await customerCall('eraseCustomer', customerId));
const found = async (id: string) => bodyOf(await ops.api.getInvoice(aRequest({ params: { id } })));

async function everything(): Promise<string> {
  const { containers } = ops.cosmos;
  const kept: unknown[] = [...ops.receipts.entries()];
  for (const container of Object.values(containers)) {
    kept.push(...(await container.items.query('SELECT * FROM c').fetchAll()).resources);
  }
  for await (const { name } of ops.archiveBlobs.listBlobsFlat()) {
    kept.push(String(await ops.archiveBlobs.getBlobClient(name).downloadToBuffer()));
  }
  return JSON.stringify(kept);
}

async function importAgain({ id, amountMinor, currency, dueAt }: Invoice) {
  const row = {
    id,
    customerId: person,
    amountMinor,
    currency,
    dueAt,
    description: 'lessons for Zoe',
    paymentMethod: 'pm_of_zoe',
  };
  return bodyOf(await ops.api.importInvoices(aRequest({ method: 'POST', body: [row] })));
}

/** In the shard of the archived one, so that both are in one file. */
const stranger =
  ['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7'].find((id) => shardOf(id, 4) === shardOf('archived', 4)) ??
  '';

/** One in the database, one in the archive that shares its file with a stranger's. */
async function oneEach(): Promise<{ kept: Invoice; archived: Invoice }> {
  const archived = hers('archived');
  await ops.put(archived, paidInvoice({ id: stranger, shard: archived.shard, customerId: 'cus_other' }));
  await ops.archiveSettled();
  expect(await Array.fromAsync(ops.archiveBlobs.listBlobsFlat())).toHaveLength(1);
  const kept = hers('kept');
  await ops.put(kept);
  return { kept, archived };
}

describe('an export', () => {
  test('has the invoices of the customer, archived ones too, and is audited without the id', async () => {
    await oneEach();
    const answer = bodyOf(await customerCall('exportCustomer')) as { invoices: { id: string }[] };
    expect(answer.invoices.map(({ id }) => id)).toEqual(['kept', 'archived']);
    expect(answer).toMatchObject({
      customerId: person,
      invoices: [
        { description: 'lessons for Zoe', paymentMethod: 'pm_of_zoe', archivedAt: null },
        { description: 'lessons for Zoe', archivedAt: expect.any(String) },
      ],
    });
    expect(await ops.audited()).toMatchObject([
      { actor: 'ada@example.com', action: 'export customer', target: customerHash(person) },
    ]);
    expect(JSON.stringify(await ops.audited())).not.toContain(person);
  });

  test('of nobody is empty', async () => {
    expect(bodyOf(await customerCall('exportCustomer', 'nobody'))).toEqual({
      customerId: 'nobody',
      invoices: [],
    });
  });
});

describe('an erasure', () => {
  test('leaves nothing of the person in any store, and all that the books need', async () => {
    await oneEach();
    expect(await erase()).toEqual({ erased: 2, complete: true, leftCount: 0, left: [] });
    const text = await everything();
    for (const one of personal) expect(text).not.toContain(one);
    for (const id of ['kept', 'archived']) {
      expect(await found(id)).toMatchObject({
        id,
        customerId: ':erased',
        amountMinor: 1999,
        currency: 'USD',
        dueAt: '2026-01-01T12:00:00.000Z',
        status: 'paid',
        payment: { id: `pi_${id}`, paidAt: '2024-01-01T12:00:05.000Z' },
        reversals: { refunds: [{ id: 'rf_1', amountMinor: 5 }], refundedMinor: 5 },
        paymentMethod: null,
        description: null,
      });
    }
    expect([...ops.receipts.keys()].toSorted()).toEqual(['archived/pi_archived.json', 'kept/pi_kept.json']);
    expect(JSON.parse(ops.receipts.get('kept/pi_kept.json') ?? '')).toEqual({
      invoiceId: 'kept',
      customerId: ':erased',
      amountMinor: 1999,
      currency: 'USD',
      paymentId: 'pi_kept',
      paidAt: '2024-01-01T12:00:05.000Z',
    });
    expect(await found(stranger)).toMatchObject({
      customerId: 'cus_other',
      archivedAt: expect.any(String),
    });
    expect(bodyOf(await customerCall('exportCustomer'))).toMatchObject({ invoices: [] });
  });

  test('changes no figure', async () => {
    await oneEach();
    const summary = async () => bodyOf(await ops.api.getSummary(aRequest()));
    const before = await summary();
    await erase();
    expect(await summary()).toEqual(before);
    const recount = aRequest({ method: 'POST', body: { reason: 'check' } });
    expect(bodyOf(await ops.api.recountFigures(recount))).toMatchObject({ corrected: 0 });
  });

  test('can be asked for again, and each call is audited by a hash', async () => {
    await oneEach();
    await erase();
    expect(await erase()).toEqual({ erased: 0, complete: true, leftCount: 0, left: [] });
    const record = { action: 'erase customer', target: customerHash(person) };
    expect(await ops.audited()).toMatchObject([
      { ...record, detail: { reason: 'request of the person', erased: 2, left: 0 } },
      { ...record, detail: { erased: 0 } },
    ]);
  });

  test('goes on where a process died between the file and its tombstone', async () => {
    await oneEach();
    const { documents } = ops.archivePorts;
    const dying = customers({
      ...ops.archivePorts,
      documents: { ...documents, transact: () => Promise.reject(new Error('died')) },
      invoices: { list: async () => ({ items: [] }) },
      poison: { list: async () => [] },
      writeReceipt: async () => {},
      clock: { ...ops.clock },
      shards: 4,
    });
    await expect(dying.erase(person, 'ada')).rejects.toThrow('died');
    expect(await erase()).toMatchObject({ erased: 2, complete: true });
    expect(await everything()).not.toContain(person);
  });

  test('erases the copies that a restore has left in earlier files, too', async () => {
    const archived = hers('twice');
    await ops.put(archived);
    await ops.archiveSettled();
    const restore = aRequest({ method: 'POST', params: { id: 'twice' }, body: { reason: 'drill' } });
    expect(await ops.api.restoreInvoice(restore)).toMatchObject({ jsonBody: { id: 'twice' } });
    ops.clock.stall(500 * dayMs);
    await ops.archiveSettled();
    expect(await found('twice')).toMatchObject({ archivedAt: expect.any(String) });
    await erase();
    expect(await everything()).not.toMatch(/Zoe|pm_of_zoe/);
  });

  test('says which earlier copy is missing, until its file is there again', async () => {
    await ops.put(hers('twice'));
    await ops.archiveSettled();
    const [file] = await Array.fromAsync(ops.archiveBlobs.listBlobsFlat());
    const lost = ops.archiveBlobs.getBlockBlobClient(file?.name ?? '');
    const restore = aRequest({ method: 'POST', params: { id: 'twice' }, body: { reason: 'drill' } });
    expect(await ops.api.restoreInvoice(restore)).toMatchObject({ jsonBody: { id: 'twice' } });
    ops.clock.stall(500 * dayMs);
    const left = { erased: 0, left: [{ id: 'twice', why: 'missing' }] };
    const text = String(await lost.downloadToBuffer());
    await lost.delete();
    expect(await erase()).toMatchObject(left);
    await ops.archiveSettled();
    expect(await erase()).toMatchObject(left);
    await lost.upload(text, text.length);
    expect(await erase()).toMatchObject({ erased: 1, left: [] });
    expect(await everything()).not.toMatch(/Zoe|pm_of_zoe/);
  });

  test('goes on after an invoice whose archive file is lost; an export names that file', async () => {
    await ops.put(hers('lost'));
    await ops.archiveSettled();
    const [file] = await Array.fromAsync(ops.archiveBlobs.listBlobsFlat());
    const name = file?.name ?? '';
    await ops.put(hers('whole'));
    await ops.archiveSettled();
    await ops.archiveBlobs.deleteBlob(name);
    const { status, ...answer } = await customerCall('exportCustomer');
    expect(status).toBe(500);
    expect(JSON.stringify(answer)).toMatch(new RegExp(`lost.* is not in its file ${name}`));
    expect(await erase()).toMatchObject({ erased: 1, left: [{ id: 'lost', why: 'missing' }] });
    expect(await found('whole')).toMatchObject({ customerId: ':erased' });
  });

  test.each<[string, string, Partial<Invoice>]>([
    ['has not ended', 'open', { status: 'pending', actionableAt: '2099-01-01T00:00:00.000Z' }],
    [
      'was changed this week',
      'recent',
      { timeline: [{ at: '2055-12-20T00:00:00.000Z', what: 'paid', by: 'host-a' }] },
    ],
    [
      'has an open dispute',
      'disputeOpen',
      {
        reversals: reversalsOf(
          [],
          [{ id: 'dp', amountMinor: 5, status: 'open', at: '2024-02-01T00:00:00.000Z', reason: 'x' }],
        ),
      },
    ],
  ])('leaves an invoice that %s, and says so', async (_, why, changes) => {
    const invoice = hers('left', changes);
    await ops.put(invoice);
    expect(await erase()).toEqual({ erased: 0, complete: true, leftCount: 1, left: [{ id: 'left', why }] });
    expect(await found('left')).toMatchObject({ customerId: person, description: 'lessons for Zoe' });
  });

  test('leaves an invoice that a waiting message names: it would write the receipt again', async () => {
    const invoice = hers('named');
    await ops.put(invoice);
    const body = [{ resourceId: 'named', stage: 'receipt', input: { customerId: person } }];
    const message = { id: 'm-1', shard: invoice.shard, destination: 'work-items', body };
    await ops.cosmos.containers.invoices.items.create(newOutboxMessage(message, ops.clock.now()));
    const left = { erased: 0, left: [{ id: 'named', why: 'named' }] };
    expect(await erase()).toMatchObject(left);
    ops.clock.stall(500 * dayMs);
    await ops.archiveSettled();
    expect(await found('named')).toMatchObject({ archivedAt: expect.any(String) });
    expect(await erase()).toMatchObject(left);
  });

  test.each(['kept', 'archived'] as const)(
    'does not make the same row of a file payable again (%s)',
    async (which) => {
      const { [which]: invoice } = await oneEach();
      await erase();
      expect(await importAgain(invoice)).toMatchObject({ created: 0, duplicates: 1, rejectedCount: 0 });
      expect(await importAgain({ ...invoice, amountMinor: 500 })).toMatchObject({
        created: 0,
        rejected: [{ error: expect.stringContaining('other content') }],
      });
    },
  );

  test('nor after it has moved to the archive, or come back', async () => {
    const { kept } = await oneEach();
    await erase();
    ops.clock.stall(500 * dayMs);
    await ops.archiveSettled();
    expect(await found('kept')).toMatchObject({ archivedAt: expect.any(String), customerId: ':erased' });
    expect(await importAgain(kept)).toMatchObject({ created: 0, duplicates: 1 });
    await ops.api.restoreInvoice(
      aRequest({ method: 'POST', params: { id: 'kept' }, body: { reason: 'drill' } }),
    );
    expect(await importAgain(kept)).toMatchObject({ created: 0, duplicates: 1 });
    expect(await everything()).not.toContain(person);
  });

  test('makes a declined invoice one that is never tried again: nobody knows whom to charge', async () => {
    const declined = hers('declined', {
      status: 'declined',
      declinedAt: '2024-01-03T00:00:00.000Z',
    });
    await ops.put({ ...declined, payment: { keyNumber: 1, declines: 1, deferrals: 0 } });
    expect(await erase()).toMatchObject({ erased: 1 });
    const retry = aRequest({ method: 'POST', params: { id: 'declined' }, body: { reason: 'x' } });
    expect(await ops.api.retryInvoice(retry)).toMatchObject({ status: 409 });
    expect(await found('declined')).toMatchObject({ actions: { retry: { allowed: false } } });
  });
});
