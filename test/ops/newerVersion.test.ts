import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatVersion } from '../../packages/jobs/src/documents/storedDocuments.ts';
import { newManualRun } from '../../packages/jobs/src/runs/manualRun.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
  await ops.store(
    { id: 'ours', shard: shardOf('ours', 4) },
    { id: 'theirs', shard: shardOf('theirs', 4), version: formatVersion + 1 },
  );
  const run = { job: 'process-invoices', runId: 'newer', groups: ['0'], dryRun: false };
  await ops.runs.create({ ...newManualRun(run, '2026-01-01T12:00:00.000Z'), version: formatVersion + 1 });
});
afterAll(() => ops[Symbol.asyncDispose]());

const id = 'theirs';
test.each([
  ['GET ops/invoices/{id}', 'invoice "theirs"', () => ops.api.getInvoice(aRequest({ params: { id } }))],
  [
    'POST ops/invoices/{id}/retry',
    'invoice "theirs"',
    () => ops.api.retryInvoice(aRequest({ method: 'POST', params: { id } })),
  ],
  ['GET ops/runs/{id}', 'run "newer"', () => ops.api.getRun(aRequest({ params: { id: 'newer' } }))],
])('%s answers 503 for what a newer release wrote', async (_call, what, answer) => {
  const response = await answer();
  expect(response).toMatchObject({ status: 503, headers: { 'content-type': 'application/problem+json' } });
  expect(bodyOf(response)).toMatchObject({
    detail: `${what} was written by a newer release: expected version ${formatVersion} or older`,
  });
});

test('a list leaves out what a newer release wrote', async () => {
  expect(bodyOf(await ops.api.listInvoices(aRequest()))).toMatchObject({ invoices: [{ id: 'ours' }] });
  expect(bodyOf(await ops.api.listRuns(aRequest()))).toMatchObject({ runs: [] });
});

test('any other error still rejects', async () => {
  await ops.store({ id: 'broken', shard: shardOf('broken', 4), currency: 5 as never });
  await expect(ops.api.getInvoice(aRequest({ params: { id: 'broken' } }))).rejects.toThrow('currency');
});
