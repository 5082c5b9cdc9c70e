import { BlobServiceClient, RestError } from '@azure/storage-blob';
import { expect, inject, test } from 'vitest';
import { blobReceipts } from '../../src/followUps/blobReceipts.ts';
import { ReceiptNotStored, receiptName, receiptStage } from '../../src/followUps/receipts.ts';
import { isNotNow } from '../../src/workItems/notNow.ts';
import { throughBlackHole } from '../support/throughBlackHole.ts';

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
    ReceiptNotStored,
  );
  proxy.swallow(false);
  expect(await receiptStage(blobReceipts(container)).run(input, context)).toEqual({
    blob: 'inv-1/pi_1.json',
  });
});

test('a store that is away postpones the receipt, and the store’s error is the cause', async () => {
  const cause = new RestError('the service is busy', { statusCode: 503 });
  const stage = receiptStage({ write: () => Promise.reject(cause) });
  const error = await stage.run(input, context).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ReceiptNotStored);
  expect(error).toMatchObject({ message: expect.stringContaining('the service is busy'), cause });
  expect(isNotNow(error)).toBe(true);
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
