import { BlobServiceClient } from '@azure/storage-blob';
import { expect, inject, test } from 'vitest';
import { blobReceipts } from '../../src/followUps/blobReceipts.ts';
import { receiptName, receiptStage } from '../../src/followUps/receipts.ts';
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
  await expect(
    receiptStage(blobReceipts(container, { timeoutMs: 300 })).run(input, context),
  ).rejects.toThrow();
  proxy.swallow(false);
  expect(await receiptStage(blobReceipts(container)).run(input, context)).toEqual({
    blob: 'inv-1/pi_1.json',
  });
});
