import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { expect, inject, test } from 'vitest';
import { startAzurite } from '../../local/azurite.ts';

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

test('a taken port is an error that says so', async () => {
  const port = Number(/:(\d+)\/devstoreaccount1;Queue/.exec(inject('azurite'))?.[1]);
  await expect(startAzurite({ port })).rejects.toThrow(/Azurite ended with code 1 at start.*EADDRINUSE/s);
});
