import { BlobServiceClient, RestError } from '@azure/storage-blob';
import { expect, inject, test } from 'vitest';
import { mayRetryLater, RetryLater } from '../../packages/jobs/src/workItems/nextTry.ts';
import type { Stage } from '../../packages/jobs/src/workItems/stage.ts';
import { blobReceipts } from '../../src/after/blobReceipts.ts';
import { type ReceiptStore, receiptName, receiptStage } from '../../src/after/receipts.ts';
import { throughBlackHole } from '../support/throughBlackHole.ts';
import { virtualLocks } from '../support/virtualLocks.ts';

const context = { resourceId: 'inv-1', signal: new AbortController().signal, assertHeld() {} };
const input = {
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  paymentId: 'pi_1',
  paidAt: '2026-01-01T00:00:00.000Z',
};

test('a receipt is one blob per payment, however often it is written', async () => {
  const container = BlobServiceClient.fromConnectionString(inject('azurite')).getContainerClient(
    `receipts-${Date.now()}`,
  );
  await container.create();
  const stage = receiptStage(blobReceipts(container));
  expect(await stage.run(input, context)).toEqual({ blob: 'inv-1/pi_1.json' });
  await stage.run(input, context);
  const names = (await Array.fromAsync(container.listBlobsFlat())).map(({ name }) => name);
  expect(names).toEqual(['inv-1/pi_1.json']);
  const text = (await container.getBlockBlobClient('inv-1/pi_1.json').downloadToBuffer()).toString();
  expect(JSON.parse(text)).toEqual({ invoiceId: 'inv-1', ...input });
});

test('needs no lease: two processes that write one receipt at the same time leave one', async () => {
  const service = BlobServiceClient.fromConnectionString(inject('azurite'));
  const container = service.getContainerClient(`receipts-${crypto.randomUUID()}`);
  await container.create();
  const stages = [receiptStage(blobReceipts(container)), receiptStage(blobReceipts(container))];
  expect(stages.map(({ lease }) => lease)).toEqual([false, false]);
  await Promise.all(stages.map((stage) => stage.run(input, context)));
  const names = (await Array.fromAsync(container.listBlobsFlat())).map(({ name }) => name);
  expect(names).toEqual(['inv-1/pi_1.json']);
});

test('with a retention policy the same receipt may be written again, and another may not', async () => {
  const service = BlobServiceClient.fromConnectionString(inject('azurite'));
  const container = service.getContainerClient(`receipts-${crypto.randomUUID()}`);
  await container.create();
  await blobReceipts(container).write('a.json', '{"a":1}', context.signal);
  // The answer of Blob Storage to an upload over a protected blob; Azurite knows no policies.
  const writeOnce = blobReceipts({
    getBlockBlobClient(name) {
      const blob = container.getBlockBlobClient(name);
      blob.upload = () =>
        Promise.reject(new RestError('immutable', { code: 'BlobImmutableDueToPolicy', statusCode: 409 }));
      return blob;
    },
  });
  await writeOnce.write('a.json', '{"a":1}', context.signal);
  await expect(writeOnce.write('a.json', '{"a":2}', context.signal)).rejects.toThrow('immutable');
});

test('an id that is not safe in a blob name is replaced by its hash', () => {
  expect(receiptName('Rechnung Nr. 7 ü', 'pi_1')).toMatch(/^[0-9a-f]{64}\/pi_1\.json$/);
  expect(receiptName('..', 'pi_1')).toMatch(/^[0-9a-f]{64}\//);
});

test('an upload ends in time on a connection that swallows everything', async () => {
  await using proxy = await throughBlackHole(inject('azurite'));
  const container = BlobServiceClient.fromConnectionString(proxy.connectionString).getContainerClient(
    `receipts-${crypto.randomUUID()}`,
  );
  await container.create();
  proxy.swallow(true);
  await expect(receiptStage(blobReceipts(container, { timeoutMs: 300 })).run(input, context)).rejects.toThrow(
    RetryLater,
  );
  proxy.swallow(false);
  expect(await receiptStage(blobReceipts(container)).run(input, context)).toEqual({
    blob: 'inv-1/pi_1.json',
  });
});

test('a store that is away delays the receipt, and the store’s error is the cause', async () => {
  const cause = new RestError('the service is busy', { statusCode: 503 });
  const stage = receiptStage({ write: () => Promise.reject(cause) });
  const error = await stage.run(input, context).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RetryLater);
  expect(error).toMatchObject({ message: expect.stringContaining('the service is busy'), cause });
  expect(mayRetryLater(error)).toBe(true);
});

test('an upload that ends with the lease rejects with the reason, and is not the store’s fault', async () => {
  const lease = new AbortController();
  const reason = new Error('the lease is lost');
  const stage = receiptStage({
    async write(_name, _json, signal) {
      lease.abort(reason);
      throw new DOMException(`aborted: ${signal.aborted}`, 'AbortError');
    },
  });
  await expect(stage.run(input, { ...context, signal: lease.signal })).rejects.toBe(reason);
});

/** Five minutes in which 64 messages at a time are written to an account that serves one request after another. */
async function fiveMinutesOfReceipts(stage: (store: ReceiptStore) => Pick<Stage, 'run'>) {
  const { locks, clock, network } = virtualLocks();
  const serviceMs = 100;
  let busyUntil = 0;
  let written = 0;
  const waitMs = () => {
    busyUntil = Math.max(clock.monotonic(), busyUntil) + serviceMs;
    return busyUntil - clock.monotonic();
  };
  network.fault = () => ({ kind: 'delay', ms: waitMs() });
  const acquiring = locks.tryAcquire('jobs/sweep-outbox', { instance: 'i-1', job: 'test' });
  await clock.advance(1_000);
  const lease = await acquiring;
  if (lease === null) throw new Error('nobody else has the lock');
  const receipts = stage({ write: () => clock.sleep(waitMs()) });
  const until = clock.monotonic() + 300_000;
  for (let message = 0; message < 64; message++) {
    void (async () => {
      while (clock.monotonic() < until) {
        await receipts.run(input, context);
        written++;
      }
    })();
  }
  await clock.advance(300_000);
  return { lost: lease.lost?.reason, written };
}

test('a backlog of receipts that saturates the account costs no lease, and uses most of the account', async () => {
  const { lost, written } = await fiveMinutesOfReceipts(receiptStage);
  expect(lost).toBeUndefined();
  // 3,000 requests are all that the account can serve in five minutes.
  expect(written).toBeGreaterThan(2_500);
  const unbounded = (store: ReceiptStore) => ({
    run: () => store.write('name', '{}', context.signal).then(() => ({})),
  });
  expect((await fiveMinutesOfReceipts(unbounded)).lost).toBe('unreachable');
});
