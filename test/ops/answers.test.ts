import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { type CallId, calls } from '../../src/ops/calls.ts';
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
      },
    },
  ];
  await ops.store(...invoices.map((invoice) => ({ ...invoice, shard: shardOf(invoice.id ?? '', 4) })));
  const content = { id: 'message', shard: '00', destination: 'work-items', body: {} };
  await ops.cosmos.containers.invoices.items.create(newOutboxMessage(content, ops.clock.now()));
});
afterAll(() => ops[Symbol.asyncDispose]());

const asking: readonly [CallId, Call][] = [
  ['importInvoices', { body: [{ id: 'x' }] }],
  ['listImports', {}],
  ['listInvoices', {}],
  ['getInvoice', { params: { id: 'paid' } }],
  ['retryInvoice', { params: { id: 'parked' }, body: {} }],
  [
    'refundInvoice',
    { params: { id: 'paid' }, body: { reason: 'late' }, headers: { 'idempotency-key': 'a' } },
  ],
  ['startRun', { body: { job: 'process-invoices' }, headers: { 'idempotency-key': 'a' } }],
  [
    'startBulk',
    {
      body: { action: 'retry', filter: { status: 'parked' }, reason: 'over' },
      headers: { 'idempotency-key': 'bulk' },
    },
  ],
  ['listRuns', {}],
  ['listLocks', {}],
  ['listOutbox', {}],
  ['listDeadLetters', {}],
  ['getSummary', {}],
  ['getOverview', {}],
  ['getMe', {}],
  ['getReport', {}],
  ['listAudit', {}],
  ['getHealth', {}],
  ['pausePayments', { body: { reason: 'night' } }],
  ['getPause', {}],
  ['getHealth', {}],
  ['getSummary', {}],
  ['resumePayments', { body: { reason: 'morning' } }],
  ['getOpenApi', {}],
];

test.each(asking)('what %s answers is what the document says, field by field', async (id, asked) => {
  const { method, answer } = calls[id];
  const response = await ops.api[id](aRequest({ method, ...asked }), ops.orchestrations);
  expect(response.status ?? 200).toBeLessThan(300);
  const body = bodyOf(response);
  // A field that the schema does not know would be dropped.
  expect(answer.json?.parse(body)).toEqual(body);
});
