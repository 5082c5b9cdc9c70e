import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import type { OpsRequest, OpsResponse } from '../../src/ops/http.ts';
import { operationsOf } from '../../src/ops/openApi/operations.ts';
import { newOutboxMessage } from '../../src/outbox/outboxMessage.ts';
import { aRequest, bodyOf, type Call, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

const at = '2026-01-01T09:00:00.000Z';
const due = '2026-01-01T08:00:00.000Z';
let ops: OpsForTests;

beforeAll(async () => {
  ops = await opsForTests();
  const invoices: Partial<Invoice>[] = [
    { id: 'parked', status: 'parked', reason: 'the outcome is unknown' },
    {
      id: 'claimed',
      status: 'claimed',
      actionableAt: at,
      claim: { batchId: 'b', by: 'host-1', runId: 'r', fence: 3, attempt: 1, at, phase: 'calling' },
    },
    {
      id: 'processing',
      status: 'processing',
      checkAt: at,
      payment: {
        keyNumber: 1,
        declines: 0,
        deferrals: 0,
        inProgress: { id: 'pi_1', state: 'processing', since: at, checks: 2 },
      },
    },
    {
      id: 'paid',
      status: 'paid',
      dueAt: due,
      payment: { keyNumber: 2, declines: 1, deferrals: 0, id: 'pi_2', paidAt: at },
      reversals: {
        refunds: [{ id: 'rf_1', amountMinor: 5, status: 'pending', at, by: 'ada', reason: 'late' }],
        disputes: [{ id: 'dp_1', amountMinor: 7, status: 'open', at, reason: 'fraudulent' }],
        refundedMinor: 5,
        disputedMinor: 7,
        latestAt: at,
      },
    },
  ];
  await ops.store(...invoices.map((invoice) => ({ ...invoice, shard: shardOf(invoice.id ?? '', 4) })));
  const content = { id: 'message', shard: '00', destination: 'work-items', body: {} };
  await ops.cosmos.containers.invoices.items.create(newOutboxMessage(content, ops.clock.now()));
});
afterAll(() => ops[Symbol.asyncDispose]());

type Answering = (request: OpsRequest) => Promise<OpsResponse>;

const calls: readonly [string, Answering, Call][] = [
  ['importInvoices', (request) => ops.api.importInvoices(request), { body: [{ id: 'x' }] }],
  ['listInvoices', (request) => ops.api.listInvoices(request), {}],
  ['getInvoice', (request) => ops.api.getInvoice(request), { params: { id: 'paid' } }],
  ['retryInvoice', (request) => ops.api.retryInvoice(request), { params: { id: 'parked' }, body: {} }],
  [
    'refundInvoice',
    (request) => ops.api.refundInvoice(request),
    { params: { id: 'paid' }, body: { reason: 'late' }, headers: { 'idempotency-key': 'a' } },
  ],
  [
    'startRun',
    (request) => ops.api.startRun(request, ops.orchestrations),
    { body: { job: 'count' }, headers: { 'idempotency-key': 'a' } },
  ],
  [
    'startBulk',
    (request) => ops.api.startBulk(request, ops.orchestrations),
    {
      body: { action: 'retry', filter: { status: 'parked' }, reason: 'over' },
      headers: { 'idempotency-key': 'bulk' },
    },
  ],
  ['listRuns', (request) => ops.api.listRuns(request), {}],
  ['listLocks', (request) => ops.api.listLocks(request), {}],
  ['listOutbox', (request) => ops.api.listOutbox(request), {}],
  ['listDeadLetters', (request) => ops.api.listDeadLetters(request), {}],
  ['getSummary', (request) => ops.api.getSummary(request), {}],
  ['getOverview', (request) => ops.api.getOverview(request), {}],
  ['getMe', (request) => ops.api.getMe(request), {}],
  ['getReport', (request) => ops.api.getReport(request), {}],
  ['listAudit', (request) => ops.api.listAudit(request), {}],
  ['getHealth', (request) => ops.api.getHealth(request), {}],
  ['pausePayments', (request) => ops.api.pausePayments(request), { body: { reason: 'night' } }],
  ['getHealth', (request) => ops.api.getHealth(request), {}],
  ['getSummary', (request) => ops.api.getSummary(request), {}],
  [
    'resumePayments',
    (request) => ops.api.resumePayments(request, ops.orchestrations),
    { body: { reason: 'morning' } },
  ],
  ['getOpenApi', (request) => ops.api.getOpenApi(request), {}],
];

test.each(calls)('what %s answers is what the document says, field by field', async (id, call, asked) => {
  const schema = operationsOf('process-invoices').find((one) => one.id === id)?.answer.json;
  const response = await call(aRequest({ method: asked.body === undefined ? 'GET' : 'POST', ...asked }));
  expect(response.status ?? 200).toBeLessThan(300);
  const body = bodyOf(response);
  // A field that the schema does not know would be dropped.
  expect(schema?.parse(body)).toEqual(body);
});
