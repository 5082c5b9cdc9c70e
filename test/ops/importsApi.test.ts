import { randomUUID } from 'node:crypto';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { blobImportRecords } from '../../src/importing/blobImportRecords.ts';
import { blobNameOf, importIdOf, newImportId } from '../../src/importing/blobImportWrites.ts';
import { importLimits } from '../../src/importing/readRows.ts';
import { callerOf } from '../../src/ops/caller.ts';
import { allPages, aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const good = {
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2026-01-01T00:00:00Z',
};
const answerSchema = z.object({
  importId: z.string(),
  created: z.number(),
  rejectedCount: z.number(),
  rejected: z.array(z.object({ index: z.number(), field: z.string(), error: z.string() })),
});

async function importOf(body: unknown, headers: Record<string, string> = {}) {
  const response = await ops.api.importInvoices(aRequest({ method: 'POST', body, headers }));
  return { status: response.status ?? 200, ...answerSchema.parse(bodyOf(response)) };
}

describe('an import with many bad rows', () => {
  const rows = Array.from({ length: 1_050 }, (_, n) => ({
    ...good,
    id: n % 3 === 0 ? `ok-${n}` : `bad/${n}`,
  }));
  let imported: Awaited<ReturnType<typeof importOf>>;
  beforeAll(async () => {
    imported = await importOf(rows);
  });

  test('names the first hundred, and counts all', () => {
    expect(imported).toMatchObject({ created: 350, rejectedCount: 700 });
    const bad = rows.flatMap(({ id }, index) => (id.startsWith('bad') ? [index] : []));
    expect(imported.rejected.map(({ index }) => index)).toEqual(bad.slice(0, 100));
  });

  test('all of them can be paged through, each once', async () => {
    const pages = await allPages(
      ({ query }) =>
        ops.api.listRejected(
          aRequest({ params: { id: imported.importId }, query: Object.fromEntries(query) }),
        ),
      'rejected',
    );
    expect(pages).toHaveLength(7);
    const listed = pages.flat();
    expect(new Set(listed.map(({ index }) => index)).size).toBe(700);
    expect(listed).toEqual(expect.arrayContaining(imported.rejected));
  });

  test('is listed with how it ended, and found by its id', async () => {
    const view = {
      importId: imported.importId,
      fileName: null,
      rows: null,
      columns: [],
      separator: ',',
      sums: [{ currency: 'USD', amountMinor: 350 * 1_999 }],
      status: 'completed',
      by: 'function key',
      created: 350,
      duplicates: 0,
      rejected: 700,
      startedAt: '2026-01-01T12:00:00.000Z',
      updatedAt: '2026-01-01T12:00:00.000Z',
    };
    const request = aRequest({ params: { id: imported.importId } });
    expect(bodyOf(await ops.api.getImport(request))).toEqual(view);
    const { imports } = bodyOf(await ops.api.listImports(aRequest())) as { imports: unknown[] };
    expect(imports).toContainEqual(view);
    const other = bodyOf(await ops.api.listImports(aRequest({ query: { day: '2025-12-31' } })));
    expect(other).toEqual({ imports: [], continuation: null });
  });

  test.each([
    'bm9uc2Vuc2U',
    Buffer.from('17').toString('base64url'),
    Buffer.from('-1').toString('base64url'),
  ])('a continuation that no page gave is refused: %s', async (continuation) => {
    const request = aRequest({ params: { id: imported.importId }, query: { continuation } });
    expect(await ops.api.listRejected(request)).toMatchObject({ status: 400 });
  });

  test.each(['nobody', '..', '2026-01-01-00000000-00000000', ''])('there is no import %j', async (id) => {
    expect(await ops.api.getImport(aRequest({ params: { id } }))).toMatchObject({ status: 404 });
    expect(await ops.api.listRejected(aRequest({ params: { id } }))).toMatchObject({ status: 404 });
  });
});

describe('a file that comes in parts', () => {
  const header = 'id,customerId,amount,currency,dueAt\n';
  const line = (id: string, amount = '10.00') => `${id},cus_1,${amount},EUR,2026-01-01T00:00:00Z\n`;
  const begin = async (rows: number) => {
    const body = { fileName: 'Dezember.csv', rows, columns: header.trim().split(',') };
    const answer = bodyOf(await ops.api.beginImport(aRequest({ method: 'POST', body })));
    return z.object({ importId: z.string() }).parse(answer).importId;
  };
  const send = (importId: string, part: number, rows: string, lines: string[]) =>
    ops.api.importInvoices(
      aRequest({
        method: 'POST',
        body: header + lines.join(''),
        headers: { 'content-type': 'text/csv' },
        query: { import: importId, part: `${part}`, rows },
      }),
    );
  const view = async (id: string) => bodyOf(await ops.api.getImport(aRequest({ params: { id } })));
  const refused = async (id: string) => bodyOf(await ops.api.listRejected(aRequest({ params: { id } })));

  test('has one record, with the numbers of its refused rows in the file and the rows as they were', async () => {
    const importId = await begin(5);
    expect(await view(importId)).toMatchObject({ status: 'running', fileName: 'Dezember.csv', rows: 5 });
    await send(importId, 0, '2-4', [line('part-1'), line('part/2'), line('part-3')]);
    expect(await view(importId)).toMatchObject({ status: 'running', created: 2, rejected: 1 });
    const last = await send(importId, 1, '6,9', [line('part-6', '2.50'), line('part-6', '3.00')]);
    expect(bodyOf(last)).toMatchObject({
      rejected: [{ index: 9, error: expect.stringContaining('row 6 ') }],
    });
    expect(await view(importId)).toMatchObject({
      status: 'completed',
      created: 3,
      rejected: 2,
      sums: [{ currency: 'EUR', amountMinor: 2_250 }],
    });
    expect(await refused(importId)).toMatchObject({
      rejected: [
        { index: 3, field: 'id', row: ['part/2', 'cus_1', '10.00', 'EUR', '2026-01-01T00:00:00Z'] },
        { index: 9, field: 'id', row: ['part-6', 'cus_1', '3.00', 'EUR', '2026-01-01T00:00:00Z'] },
      ],
    });
  });

  test('keeps a refused amount as it was written, and no row that names a field twice', async () => {
    const importId = await begin(2);
    const rest = '"customerId":"cus_1","currency":"EUR","dueAt":"2026-01-01T00:00:00Z","amountMinor":1999';
    const body = `[{"id":"written-1",${rest}.00},{"id":"written-2",${rest},"amountMinor":99900}]`;
    await ops.api.importInvoices(
      aRequest({
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
        query: { import: importId, part: '0', rows: '1-2' },
      }),
    );
    expect(await view(importId)).toMatchObject({ created: 0, rejected: 2 });
    const { rejected } = z.object({ rejected: z.array(z.looseObject({})) }).parse(await refused(importId));
    expect(rejected).toMatchObject([
      { index: 1, field: 'amountMinor', row: { amountMinor: '1999.00' } },
      { index: 2, field: 'amountMinor', error: 'is there twice: expected once' },
    ]);
    expect(rejected[1]).not.toHaveProperty('row');
  });

  test('of which a part is repeated after a lost answer counts it once', async () => {
    const importId = await begin(2);
    for (let n = 0; n < 2; n++) await send(importId, 0, '2', [line('lost/1')]);
    await send(importId, 1, '3', [line('lost-2')]);
    expect(await view(importId)).toMatchObject({
      status: 'completed',
      created: 1,
      duplicates: 0,
      rejected: 1,
    });
    expect(await refused(importId)).toMatchObject({ rejected: [{ index: 2 }] });
  });

  test('takes its parts in their order, and only of a file that was begun', async () => {
    const importId = await begin(2);
    expect(await send(importId, 1, '3', [line('early')])).toMatchObject({ status: 409 });
    expect(await ops.api.getInvoice(aRequest({ params: { id: 'early' } }))).toMatchObject({ status: 404 });
    expect(await send('2026-01-01-00000000-00000000', 0, '2', [line('never')])).toMatchObject({
      status: 404,
    });
    expect(await send(importId, 0, '2-', [line('never')])).toMatchObject({ status: 400 });
  });
});

describe('a body that can be read only so far', () => {
  test('is refused with counts of what came before, which is stored and audited', async () => {
    const body = `${JSON.stringify([{ ...good, id: 'before' }]).slice(0, -1)},{"id":`;
    const headers = { 'content-type': 'application/json' };
    const { importId, ...answer } = await importOf(body, headers);
    expect(answer).toMatchObject({ status: 400, created: 1, rejectedCount: 0 });
    const found = await ops.api.getInvoice(aRequest({ params: { id: 'before' } }));
    expect(bodyOf(found)).toMatchObject({ id: 'before', status: 'pending' });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({ detail: expect.objectContaining({ importId, stopped: expect.any(String) }) }),
    );
  });

  test('of another type, with a query or too large is refused, and nothing of it is stored', async () => {
    const body = [{ ...good, id: 'never' }];
    const post = (changes: object) => ops.api.importInvoices(aRequest({ method: 'POST', body, ...changes }));
    expect(await post({ headers: { 'content-type': 'text/plain' } })).toMatchObject({ status: 415 });
    expect(await post({ query: { dryRun: 'true' } })).toMatchObject({ status: 400 });
    const tooMuch = await post({ body: `${JSON.stringify(body)}${' '.repeat(importLimits.bytes)}` });
    expect(tooMuch).toMatchObject({ status: 413, body: expect.stringContaining('at most 12582912 bytes') });
    expect(await ops.api.getInvoice(aRequest({ params: { id: 'never' } }))).toMatchObject({ status: 404 });
  });
});

describe('any other call with a body', () => {
  const retry = (body: unknown, query = {}) =>
    ops.api.retryInvoice(aRequest({ method: 'POST', body, query, params: { id: 'x' } }));

  test('refuses one of more than 64 KB', async () => {
    expect(await retry({ reason: 'x'.repeat(70_000) })).toMatchObject({ status: 413 });
  });

  test('refuses a query it does not know, but for those of the platform', async () => {
    expect(await retry({}, { force: 'true' })).toMatchObject({ status: 400 });
    expect(await retry({}, { code: 'key', clientId: 'default' })).toMatchObject({ status: 404 });
  });

  test('answers shortly, whatever is wrong and however deep', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, 1]));
    const deep = `{"job":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    const headers = { 'content-type': 'application/json' };
    for (const body of [deep, JSON.stringify(many), JSON.stringify({ job: 'x'.repeat(60_000) })]) {
      const response = await ops.api.startRun(
        aRequest({ method: 'POST', body, headers }),
        ops.orchestrations,
      );
      expect(response).toMatchObject({ status: 400 });
      expect(JSON.stringify(bodyOf(response)).length).toBeLessThan(2_000);
    }
  });
});

test('a signed-in caller with an empty name is still named', () => {
  const of = (name: string) =>
    callerOf({ headers: new Headers({ 'x-ms-client-principal-name': name }) }, 'platform').actor;
  expect(of('')).toBe('signed-in caller without a name');
  expect(of('  ')).toBe('signed-in caller without a name');
  expect(of('ada@example.com')).toBe('ada@example.com');
});

describe('records of imports', () => {
  test('the id of an import and the name of its blob stand for each other, newest first', () => {
    const ids = [0, 1, 86_399_999].map((ms) => newImportId(Date.parse('2026-01-01T00:00:00.000Z') + ms));
    expect(ids.map((id) => importIdOf(blobNameOf(id) ?? ''))).toEqual(ids);
    const blobs = ids.map((id) => ({ id, name: blobNameOf(id) ?? '' }));
    const byName = blobs.toSorted((a, b) => a.name.localeCompare(b.name));
    expect(byName.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  test('one that has said nothing for five minutes is interrupted; until then it is running', async () => {
    const blobs = BlobServiceClient.fromConnectionString(inject('azurite'));
    const container = blobs.getContainerClient(`imports-${randomUUID()}`);
    await container.create();
    const records = blobImportRecords(container, ops.clock);
    const record = records.begin('Zoë');
    await record.write({ status: 'running', created: 1, duplicates: 2, rejected: 0, sums: {} }, []);
    expect(await records.find(record.importId)).toMatchObject({ status: 'running', by: 'Zoë', created: 1 });
    await ops.clock.advance(301_000);
    expect(await records.find(record.importId)).toMatchObject({ status: 'interrupted', duplicates: 2 });
  });

  test('an import goes on without its record, and says that it has none', async () => {
    const { importId, created } = z
      .object({ importId: z.string().nullable(), created: z.number() })
      .parse(
        bodyOf(
          await ops.withoutImportRecords.importInvoices(
            aRequest({ method: 'POST', body: [{ ...good, id: 'unrecorded' }] }),
          ),
        ),
      );
    expect({ importId, created }).toEqual({ importId: null, created: 1 });
  });
});
