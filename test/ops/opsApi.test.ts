import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newManualRun, runIdFor } from '../../packages/jobs/src/runs/manualRun.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

describe('POST ops/invoices', () => {
  const good = {
    id: 'imp-1',
    customerId: 'cus_1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2026-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  };

  test('stores the good rows, names the bad ones by index, and is audited', async () => {
    const body = [good, { ...good, id: 'imp-2', amountMinor: 1.5 }, good];
    const response = await ops.api.importInvoices(aRequest({ method: 'POST', body, headers: principal }));
    expect(bodyOf(response)).toEqual({
      importId: expect.stringMatching(/^2026-01-01-\d{8}-[0-9a-f]{8}$/),
      created: 1,
      duplicates: 1,
      rejectedCount: 1,
      rejected: [{ index: 1, field: 'amountMinor', error: expect.any(String) }],
    });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        actor: 'ada@example.com',
        action: 'import invoices',
        day: '2026-01-01',
        detail: { importId: expect.any(String), created: 1, duplicates: 1, rejected: 1 },
      }),
    );
  });

  test('rejects different content under a stored id', async () => {
    const body = [{ ...good, amountMinor: 555 }];
    const response = await ops.api.importInvoices(aRequest({ method: 'POST', body }));
    expect(bodyOf(response)).toMatchObject({ created: 0, rejected: [{ index: 0, field: 'id' }] });
  });

  test('rejects rows that may not have been stored, and audits the failure', async () => {
    await ops.cosmos.fault({ kind: '503', count: 1_000, filter: { operation: 'batch' } });
    let answered = false;
    // The figures of its shard are known already: without them nothing is sent.
    const id = sameShard('unsure', good.id);
    const body = [{ ...good, id }];
    const answer = ops.api.importInvoices(aRequest({ method: 'POST', body })).finally(() => {
      answered = true;
    });
    while (!answered) await ops.clock.advance(1_000);
    await ops.cosmos.clearFaults();
    expect(await answer).not.toHaveProperty('status');
    expect(bodyOf(await answer)).toMatchObject({
      created: 0,
      duplicates: 0,
      rejectedCount: 1,
      rejected: [
        { index: 0, field: 'id', error: `"${id}" may have been stored, which is unclear: send it again` },
      ],
    });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        detail: expect.objectContaining({ rejected: 1, failure: expect.any(String) }),
      }),
    );
  });

  test('stores nothing if SHARDS has changed since the deployment began', async () => {
    await using other = await opsForTests({ shardsOfDeployment: 16 });
    const response = await other.api.importInvoices(aRequest({ method: 'POST', body: [good] }));
    expect(response).toMatchObject({ status: 500 });
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('set SHARDS to 16') });
    const list = await other.api.listInvoices(aRequest());
    expect(bodyOf(list)).toMatchObject({ invoices: [] });
  });

  test('a body that cannot be read is a problem, and nothing is stored or audited', async () => {
    const before = (await ops.audited()).length;
    const headers = { 'content-type': 'application/json' };
    const response = await ops.api.importInvoices(aRequest({ method: 'POST', body: '[{', headers }));
    expect(response).toMatchObject({ status: 400 });
    expect(response.headers).toMatchObject({ 'content-type': 'application/problem+json' });
    expect(await ops.audited()).toHaveLength(before);
  });
});

describe('GET ops/invoices', () => {
  const page = async (query: Record<string, string>) => {
    const response = await ops.api.listInvoices(aRequest({ query }));
    return bodyOf(response) as { invoices: { id: string; status: string }[]; continuation: string | null };
  };

  test('pages through all invoices with a status, each once', async () => {
    const wanted = Array.from({ length: 230 }, (_, n) => ({
      id: `list-${n}`,
      shard: `0${n % 3}`,
      status: 'declined' as const,
    }));
    await ops.store(...wanted);
    const seen: string[] = [];
    let pages = 0;
    let query: Record<string, string> = { status: 'declined' };
    for (;;) {
      const { invoices, continuation } = await page(query);
      pages++;
      expect(invoices.every(({ status }) => status === 'declined')).toBe(true);
      seen.push(...invoices.map(({ id }) => id));
      if (continuation === null) break;
      query = { status: 'declined', continuation };
    }
    expect(pages).toBeGreaterThan(2);
    expect(seen).toHaveLength(230);
    expect(new Set(seen)).toEqual(new Set(wanted.map(({ id }) => id)));
  });

  test('an invoice that cannot be read does not hide the others', async () => {
    await using own = await opsForTests();
    await own.store({ id: 'good' }, { id: 'bad', currency: 5 as never });
    const { invoices } = bodyOf(await own.api.listInvoices(aRequest())) as { invoices: { id: string }[] };
    expect(invoices.map(({ id }) => id)).toEqual(['good']);
  });

  test('an unknown status and a bad continuation are problems that name the field', async () => {
    const wrong = await ops.api.listInvoices(aRequest({ query: { status: 'paidd' } }));
    expect(wrong.status).toBe(400);
    expect(bodyOf(wrong)).toMatchObject({
      errors: [{ field: 'status', error: expect.stringContaining('"paidd"') }],
    });
    for (const continuation of ['nonsense', Buffer.from('{"x":1}').toString('base64url')]) {
      const bad = await ops.api.listInvoices(aRequest({ query: { continuation } }));
      expect(bad.status).toBe(400);
      expect(bodyOf(bad)).toMatchObject({ errors: [{ field: 'continuation' }] });
    }
  });

  test('returns one by its id, with its timeline; an unknown id is 404', async () => {
    const id = 'imp-1';
    const found = await ops.api.getInvoice(aRequest({ params: { id } }));
    expect(bodyOf(found)).toMatchObject({
      id,
      status: 'pending',
      claim: null,
      timeline: [{ what: 'imported', by: 'ada@example.com' }],
    });
    const missing = await ops.api.getInvoice(aRequest({ params: { id: 'nowhere' } }));
    expect(missing.status).toBe(404);
  });
});

describe('GET ops/summary', () => {
  test('counts by status, the outbox, stale claims and charges', async () => {
    await using own = await opsForTests();
    const empty = bodyOf(await own.api.getSummary(aRequest()));
    expect(empty).toEqual({
      paused: null,
      invoices: { pending: 0, claimed: 0, processing: 0, paid: 0, declined: 0, parked: 0, voided: 0 },
      outbox: { pending: 0, parked: 0, oldestPendingSeconds: 0 },
      staleClaims: 0,
      charges: 0,
      refunded: [],
      overdueRefunds: 0,
      openDisputes: [],
      pace: { charges: null, lookups: null },
      backlog: { waiting: 0, claimed: 0, oldestSeconds: 0, estimatedSeconds: 0 },
    });
    const payment = { keyNumber: 1, declines: 0, deferrals: 0, id: 'pi_1' };
    await own.store(
      { id: 'a', shard: '00' },
      { id: 'b', shard: '01', status: 'paid', payment },
      { id: 'c', shard: '02', status: 'paid', payment },
      { ...aClaimedInvoice({ id: 'd', shard: '01' }), actionableAt: '2026-01-01T11:59:00.000Z' },
      { ...aClaimedInvoice({ id: 'e', shard: '01' }), actionableAt: '2026-01-01T12:01:00.000Z' },
      { id: 'f', shard: '03', status: 'parked' },
    );
    const outbox = { type: 'outboxMessage', destination: 'work-items', attempts: 0, body: [] };
    const at = (createdAt: string, id: string, status: string) => ({
      ...outbox,
      id,
      status,
      createdAt,
      shard: '01',
      ...(status === 'pending' ? { nextAttemptAt: createdAt } : {}),
    });
    for (const item of [
      at('2026-01-01T11:58:30.000Z', 'o1', 'pending'),
      at('2026-01-01T11:59:30.000Z', 'o2', 'pending'),
      at('2026-01-01T10:00:00.000Z', 'o3', 'parked'),
      at('2026-01-01T09:00:00.000Z', 'o4', 'dispatched'),
    ])
      await own.cosmos.containers.invoices.items.create(item);
    expect(bodyOf(await own.api.getSummary(aRequest()))).toEqual({
      paused: null,
      invoices: { pending: 1, claimed: 2, processing: 0, paid: 2, declined: 0, parked: 1, voided: 0 },
      outbox: { pending: 2, parked: 1, oldestPendingSeconds: 90 },
      staleClaims: 1,
      charges: 2,
      refunded: [],
      overdueRefunds: 0,
      openDisputes: [],
      pace: { charges: null, lookups: null },
      backlog: expect.objectContaining({ claimed: 1, estimatedSeconds: null }),
    });
  });
});

describe('POST ops/runs', () => {
  const start = (body: unknown, headers: Record<string, string> = {}) =>
    ops.api.startRun(aRequest({ method: 'POST', body, headers }), ops.orchestrations);
  const runIdOf = async (body: unknown, headers: Record<string, string> = {}) =>
    (bodyOf(await start(body, headers)) as { runId: string }).runId;

  test('answers 202 with the run and its location, starts it and is audited', async () => {
    const response = await start({ job: 'process-invoices' }, principal);
    const { runId } = bodyOf(response) as { runId: string };
    expect(response).toMatchObject({ status: 202, headers: { location: `/api/ops/runs/${runId}` } });
    expect(ops.started.at(-1)).toEqual({
      orchestrator: 'runJob',
      instanceId: runId,
      input: { job: 'process-invoices', runId, groups: ['0', '1'], dryRun: false },
    });
    expect(await ops.runs.read('process-invoices', runId)).toMatchObject({
      trigger: 'manual',
      status: 'running',
      groups: { '0': { status: 'pending' }, '1': { status: 'pending' } },
    });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        actor: 'ada@example.com',
        action: 'start run',
        target: `process-invoices/${runId}`,
      }),
    );
    const seen = await ops.api.getRun(aRequest({ params: { id: runId } }));
    expect(bodyOf(seen)).toMatchObject({ runId, job: 'process-invoices', status: 'running', counts: {} });
  });

  test.each([
    [{}, 'job'],
    [{ job: 'other' }, 'job'],
    [{ job: 'process-invoices', groups: ['9'] }, 'groups'],
    [{ job: 'process-invoices', groups: [] }, 'groups'],
    [{ job: 'process-invoices', dryRun: 'yes' }, 'dryRun'],
    [{ job: 'process-invoices', resume: 'no-such-run' }, 'resume'],
    ['not json', 'body'],
    [undefined, 'body'],
  ])('%j is a problem of %s, and starts nothing', async (body, field) => {
    const before = ops.started.length;
    const response = await start(body);
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field }] });
    expect(ops.started).toHaveLength(before);
  });

  test.each([[''], ['x'.repeat(256)]])('an Idempotency-Key of %j starts nothing', async (key) => {
    const before = ops.started.length;
    const response = await start({ job: 'process-invoices' }, { 'idempotency-key': key });
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'Idempotency-Key' }] });
    expect(ops.started).toHaveLength(before);
  });

  test('the same Idempotency-Key is the same run, created and audited once', async () => {
    const headers = { 'idempotency-key': 'monday' };
    const first = await runIdOf({ job: 'process-invoices', dryRun: true }, headers);
    const audits = (await ops.audited()).length;
    expect(await runIdOf({ job: 'process-invoices', dryRun: true }, headers)).toBe(first);
    expect(await ops.audited()).toHaveLength(audits);
    expect(ops.started.filter(({ instanceId }) => instanceId === first)).toHaveLength(1);
  });

  test('a group named twice is run once', async () => {
    const body = { job: 'process-invoices', groups: ['0', '0', '1', '0'] };
    const { status, jsonBody } = await start(body);
    expect(status).toBe(202);
    const { runId } = jsonBody as { runId: string };
    expect(ops.started.find(({ instanceId }) => instanceId === runId)?.input).toMatchObject({
      groups: ['0', '1'],
    });
  });

  test('if the creator of a run died before starting it, the next call with its key starts it', async () => {
    const runId = runIdFor('process-invoices', 'thursday');
    const run = { job: 'process-invoices', runId, groups: ['0', '1'], dryRun: false };
    await ops.runs.create(newManualRun(run, new Date(ops.clock.now()).toISOString()));
    expect(await runIdOf({ job: 'process-invoices' }, { 'idempotency-key': 'thursday' })).toBe(runId);
    expect(ops.started.at(-1)).toMatchObject({ instanceId: runId, input: run });
  });

  test('the same key with another request is refused', async () => {
    const headers = { 'idempotency-key': 'tuesday' };
    await start({ job: 'process-invoices' }, headers);
    for (const other of [
      { job: 'process-invoices', dryRun: true },
      { job: 'process-invoices', groups: ['0'] },
    ]) {
      expect((await start(other, headers)).status).toBe(409);
    }
  });

  test('the key of a run that has ended starts nothing', async () => {
    const headers = { 'idempotency-key': 'wednesday' };
    const runId = await runIdOf({ job: 'process-invoices' }, headers);
    await ops.runs.end(
      { job: 'process-invoices', runId },
      { status: 'completed', at: '2026-01-01T12:00:05.000Z' },
    );
    const before = ops.started.length;
    const again = await start({ job: 'process-invoices' }, headers);
    expect(bodyOf(again)).toEqual({ runId, status: 'completed' });
    expect(ops.started).toHaveLength(before);
  });

  test('resume runs the unfinished groups of an ended run', async () => {
    const runId = await runIdOf({ job: 'process-invoices' });
    expect((await start({ job: 'process-invoices', resume: runId })).status).toBe(400);
    const key = { job: 'process-invoices', runId };
    const at = '2026-01-01T12:00:05.000Z';
    await ops.runs.updateGroup(key, '0', { status: 'completed', counts: {} }, at);
    await ops.runs.updateGroup(key, '1', { status: 'lost', counts: {}, reason: 'taken' }, at);
    await ops.runs.end(key, { status: 'failed', at });
    await start({ job: 'process-invoices', resume: runId });
    expect(ops.started.at(-1)?.input).toMatchObject({ groups: ['1'] });
    expect((await start({ job: 'process-invoices', resume: runId, groups: ['0'] })).status).toBe(400);
  });

  test('an unknown run is 404', async () => {
    expect((await ops.api.getRun(aRequest({ params: { id: 'x' } }))).status).toBe(404);
  });
});

/** An id in the shard of another, of four. */
function sameShard(prefix: string, other: string): string {
  for (let n = 0; ; n++) {
    if (shardOf(`${prefix}-${n}`, 4) === shardOf(other, 4)) return `${prefix}-${n}`;
  }
}
