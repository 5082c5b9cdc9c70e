import { expect, test } from 'vitest';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import { journaledActions, journaledChanges } from '../../scripts/readJournal.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import type { Call as DeclaredCall } from '../../src/ops/call.ts';
import { type CallId, callIds, calls } from '../../src/ops/calls.ts';
import { customerHash } from '../../src/ops/customerCalls.ts';
import { aRequest, bodyOf, type Call, opsForTests, signedIn } from '../support/opsForTests.ts';

const ada = {
  ...signedIn('ada@example.com', 'ops.read', 'ops.write'),
  'x-ms-client-principal-id': '7c0e',
  'idempotency-key': 'key-1',
};
const reason = 'ticket 7';
const newInvoice = {
  id: 'new',
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'EUR',
  dueAt: '2026-02-01T00:00:00Z',
};

/** A request for each call that changes or exports something. */
const requests: Partial<Record<CallId, Call>> = {
  importInvoices: { body: [newInvoice] },
  beginImport: { body: { fileName: 'a.csv', rows: 1, columns: [], separator: ',' } },
  exportInvoices: { query: { status: 'paid' } },
  restoreInvoice: { params: { id: 'none' }, body: { reason } },
  refundInvoice: { params: { id: 'paid' }, body: { reason } },
  exportCustomer: { body: { customerId: 'cus_1', reason } },
  eraseCustomer: { body: { customerId: 'cus_none', reason } },
  settleRefund: {
    params: { id: 'paid' },
    body: { refundId: 'rf_1', providerId: 're_1', isSame: true, reason },
  },
  moveDueDate: { params: { id: 'pending' }, body: { dueAt: '2026-03-01T00:00:00Z' } },
  retryInvoice: { params: { id: 'parked' }, body: { paymentMethod: 'pm_2', notCharged: true, reason } },
  voidInvoice: { params: { id: 'unpaid' }, body: { reason } },
  undoVoid: { params: { id: 'voided' }, body: { reason } },
  addNote: { params: { id: 'paid' }, body: { text: 'asked for an invoice on paper' } },
  startRun: { body: { job: 'process-invoices' } },
  startBulk: { body: { action: 'void', filter: { status: 'pending' }, reason } },
  cancelRun: { params: { id: 'none' }, body: { reason } },
  pausePayments: { body: { reason } },
  resumePayments: { body: { reason } },
  releaseLock: { body: { key: 'jobs/x', expectedOwner: 'host-b', reason } },
  redriveOutbox: { params: { id: 'parked-1' }, body: { reason } },
  discardOutbox: { params: { id: 'parked-2' }, body: { reason } },
  redriveDeadLetters: { body: { ids: ['a'], reason } },
  discardDeadLetters: { body: { ids: ['a'], reason } },
  recountFigures: { body: { reason } },
};

async function world() {
  const ops = await opsForTests();
  const payment = { keyNumber: 1, declines: 0, deferrals: 0 };
  const invoices = [
    { id: 'pending' },
    { id: 'unpaid' },
    { id: 'voided', status: 'voided' as const },
    { id: 'parked', status: 'parked' as const, reason: 'unknown', payment },
    {
      id: 'paid',
      status: 'paid' as const,
      payment: { ...payment, id: 'pi_1', paidAt: '2026-01-01T09:00:00.000Z' },
    },
  ];
  await ops.store(...invoices.map((one) => ({ ...one, shard: shardOf(one.id, 4) })));
  for (const id of ['parked-1', 'parked-2']) {
    const content = { id, shard: '01', destination: 'work-items', body: [{ id }] };
    const { nextAttemptAt: _, ...message } = newOutboxMessage(content, ops.clock.now());
    await ops.cosmos.containers.invoices.items.create({ ...message, status: 'parked', lastError: 'away' });
  }
  const ask = (id: CallId) => {
    const { method } = calls[id];
    return ops.api[id](aRequest({ method, headers: ada, ...requests[id] }), ops.orchestrations);
  };
  /** All that is stored, but for records. */
  const stored = async () => {
    const { invoices: of, pace, runs } = ops.cosmos.containers;
    const all = [of, pace, runs].map((one) => one.items.query('SELECT * FROM c').fetchAll());
    return (await Promise.all(all)).map(({ resources }) => resources);
  };
  return { ...ops, ask, stored };
}

const declared: Readonly<Record<CallId, DeclaredCall>> = calls;
const recorded = callIds.filter((id) => declared[id].audit !== undefined);

test('each call that changes or exports something is asked for below', () => {
  expect(Object.keys(requests).toSorted()).toEqual(recorded.toSorted());
});

test('while the journal is away each of these calls is refused, and changes nothing', async () => {
  await using ops = await world();
  const before = await ops.stored();
  ops.journal.away = true;
  for (const id of recorded) {
    const response = await ops.ask(id);
    expect([id, response.status]).toEqual([id, 503]);
    expect(bodyOf(response)).toMatchObject({ detail: 'it could not be recorded, so nothing was done' });
  }
  expect(await ops.stored()).toEqual(before);
  expect(ops.started).toEqual([]);
  expect(await ops.audited()).toEqual([]);
  expect(ops.telemetry.values('audit.failed')).toHaveLength(recorded.length);
});

/** The values of a request that are recorded, with times as they are stored. */
function given(id: CallId): object {
  const { body, query } = requests[id] ?? {};
  const all = Array.isArray(body) ? {} : { ...(body ?? query) };
  const { customerId: _, text: __, ...values } = { customerId: '', text: '', ...all };
  return 'dueAt' in values ? { dueAt: '2026-03-01T00:00:00.000Z' } : values;
}

test('while the audit trail is away each call answers as ever, and the journal has who asked for what and the answer', async () => {
  await using ops = await world();
  const { audit } = ops.cosmos.containers;
  const create = audit.items.create.bind(audit.items);
  audit.items.create = () => Promise.reject(Object.assign(new Error('away'), { code: 503 }));
  for (const id of recorded) {
    const response = await ops.ask(id);
    const lines = ops.journal.lines.splice(0);
    expect(response.status ?? 200).toBeLessThan(500);
    expect(lines).toEqual([
      {
        at: expect.any(String),
        intent: expect.any(String),
        actor: 'ada@example.com',
        actorId: '7c0e',
        action: declared[id].audit,
        target: expect.any(String),
        changes: expect.objectContaining(given(id)),
      },
      { at: expect.any(String), intent: lines[0]?.intent, outcome: response.status ?? 200 },
    ]);
  }
  audit.items.create = create;
  expect(await ops.audited()).toEqual([]);
});

test('an outcome in the audit trail names the person by name and object id, and the line in the journal', async () => {
  await using ops = await world();
  for (const id of recorded) await ops.ask(id);
  const audited = await ops.audited();
  const intents = new Set(ops.journal.lines.map(({ intent }) => intent));
  expect(audited.length).toBeGreaterThan(10);
  for (const record of audited) {
    expect(record).toMatchObject({ actor: 'ada@example.com', actorId: '7c0e' });
    expect(intents.has(String(record.intent))).toBe(true);
  }
  expect(audited).toContainEqual(
    expect.objectContaining({ action: 'export invoices', detail: { status: 'paid' } }),
  );
  expect(await journaledChanges(ops.journal.lines, '2026-01-01')).toMatchObject([
    { invoiceId: 'pending', change: { kind: 'dueDate', dueAt: '2026-03-01T00:00:00.000Z' }, answered: true },
    { invoiceId: 'parked', change: { kind: 'paymentMethod', paymentMethod: 'pm_2' }, answered: true },
    { invoiceId: 'unpaid', change: { kind: 'voided' }, answered: true },
    { invoiceId: 'voided', change: { kind: 'void undone' }, answered: true },
  ]);
});

test('an export of one customer names them by a hash: nobody can erase them from the journal or the audit trail', async () => {
  await using ops = await world();
  await ops.api.exportInvoices(aRequest({ headers: ada, query: { customer: 'cus_42' } }));
  const told = JSON.stringify([ops.journal.lines, await ops.audited()]);
  expect(told).toContain(customerHash('cus_42'));
  expect(told).not.toContain('cus_42"');
});

test('a call that is refused to somebody is in the audit trail', async () => {
  await using ops = await world();
  const eve = { ...signedIn('eve@example.com'), 'x-ms-client-principal-id': '9d2f' };
  const request = (headers: object) =>
    aRequest({ method: 'POST', params: { id: 'unpaid' }, body: { reason }, headers: { ...headers } });
  expect((await ops.api.voidInvoice(request(eve))).status).toBe(403);
  expect((await ops.api.listInvoices(aRequest({ headers: eve }))).status).toBe(403);
  expect((await ops.api.voidInvoice(request({ ...ada, 'sec-fetch-site': 'cross-site' }))).status).toBe(403);
  const refused = (await ops.audited()).map(({ actorId, action, target, detail }) => ({
    actorId,
    action,
    target,
    detail,
  }));
  expect(refused).toEqual(
    expect.arrayContaining([
      {
        actorId: '9d2f',
        action: 'void invoice',
        target: 'unpaid',
        detail: { outcome: 'refused', why: 'eve@example.com lacks the app role ops.write' },
      },
      {
        actorId: '9d2f',
        action: 'GET ops/invoices',
        target: 'ops/invoices',
        detail: { outcome: 'refused', why: 'eve@example.com lacks the app role ops.read' },
      },
      {
        actorId: '7c0e',
        action: 'void invoice',
        target: 'unpaid',
        detail: { outcome: 'refused', why: expect.stringContaining('cross-site') },
      },
    ]),
  );
  expect(ops.journal.lines).toEqual([]);
});

test('the actions that the journal is read for are those that calls and bulk runs write', () => {
  const audits = recorded.map((id) => declared[id].audit);
  const { bulkVoid, ...ofCalls } = journaledActions;
  expect(audits).toEqual(expect.arrayContaining(Object.values(ofCalls)));
  expect(bulkVoid).toBe('bulk void');
});
