import { execFileSync } from 'node:child_process';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { expect, inject, test } from 'vitest';
import { startAzurite } from '../src/azurite.ts';

test('blob and queue answer the real SDKs', async () => {
  const blobs = BlobServiceClient.fromConnectionString(inject('azurite')).getContainerClient('azurite-smoke');
  await blobs.createIfNotExists();
  await blobs.getBlockBlobClient('a').upload('x', 1);
  expect((await blobs.getBlockBlobClient('a').downloadToBuffer()).toString()).toBe('x');
  const queue = QueueServiceClient.fromConnectionString(inject('azurite')).getQueueClient('azurite-smoke');
  await queue.createIfNotExists();
  await queue.sendMessage('m');
  expect((await queue.receiveMessages()).receivedMessageItems.map((m) => m.messageText)).toEqual(['m']);
});

test('a port in use is an error that says so', async () => {
  const port = Number(/:(\d+)\/devstoreaccount1;Queue/.exec(inject('azurite'))?.[1]);
  await expect(startAzurite({ port })).rejects.toThrow(/Azurite ended with code 1 at start.*EADDRINUSE/s);
});

test.each([
  [[], 600_000],
  [['--require', './packages/local-azure/src/azuriteWithoutGc.cjs'], 2 ** 31 - 1],
])('with node options %j it collects garbage every %i ms', (args, interval) => {
  const constants = 'azurite/dist/src/blob/utils/constants';
  const script = `console.log(require('${constants}').DEFAULT_GC_INTERVAL_MS)`;
  const printed = execFileSync(process.execPath, [...args, '--eval', script], { encoding: 'utf8' });
  expect(Number(printed)).toBe(interval);
});

test('starts without garbage collection', async () => {
  await using azurite = await startAzurite({ collectGarbage: false });
  const blobs = BlobServiceClient.fromConnectionString(azurite.connectionString);
  expect((await blobs.getContainerClient('any').create())._response.status).toBe(201);
});
