import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newFence } from '../../packages/jobs/src/claims/fence.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

/** Ids for which the Cosmos SDK throws, or which the service answers with 400. */
const oddIds = [
  'a#b',
  'a%20b',
  'a/b',
  'a\\b',
  'a?b',
  '',
  ' ',
  'a ',
  '\ud800',
  'x'.repeat(1024),
  'ä'.repeat(512),
  "a'b",
  '../x',
  '.',
  '..',
  '\ufeff',
];

describe.each(oddIds)('the id %j', (id) => {
  const request = (method: string, body?: unknown) =>
    aRequest({ method, params: { id }, ...(body === undefined ? {} : { body }) });

  test.each([
    ['GET ops/invoices/{id}', () => ops.api.getInvoice(request('GET'))],
    ['POST ops/invoices/{id}/retry', () => ops.api.retryInvoice(request('POST', {}))],
    ['GET ops/runs/{id}', () => ops.api.getRun(request('GET'))],
    ['POST ops/runs/{id}/cancel', () => ops.api.cancelRun(request('POST', {}), ops.orchestrations)],
    ['POST ops/outbox/{id}/redrive', () => ops.api.redriveOutbox(request('POST', {}))],
  ])('%s: 404', async (_, call) => {
    const response = await call();
    expect(response).toMatchObject({ status: 404 });
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('there is no ') });
  });

  test('POST ops/runs: 400 that names the field', async () => {
    const body = { job: 'process-invoices', resume: id };
    const response = await ops.api.startRun(aRequest({ method: 'POST', body }), ops.orchestrations);
    expect(response).toMatchObject({ status: 400 });
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'resume' }] });
  });
});

describe('the id of a document that is not an invoice', () => {
  test.each(['ops/invoices/{id}', 'ops/invoices/{id}/retry'])('%s: 404', async (route) => {
    const container = ops.cosmos.containers.invoices;
    const fenceId = ':fence:jobs=2Fcount=2F0';
    const fence = newFence('jobs/count/0', shardOf(fenceId, 4)).document;
    expect(fence.id).toBe(fenceId);
    await container.items.upsert(fence);
    await container.items.upsert({ id: 'a-message', shard: shardOf('a-message', 4), type: 'outboxMessage' });
    for (const id of [fenceId, 'a-message']) {
      const asked = aRequest({ method: 'POST', params: { id }, body: {} });
      const response = await (route.endsWith('retry')
        ? ops.api.retryInvoice(asked)
        : ops.api.getInvoice(asked));
      expect(response).toMatchObject({ status: 404 });
    }
  });
});
