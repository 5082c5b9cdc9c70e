import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { expect, inject, onTestFinished, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';

const app = fileURLToPath(new URL('fixtures/blobApp', import.meta.url));
const storage = BlobServiceClient.fromConnectionString(inject('azurite'));

function start(container: string, instance: string): Promise<HostProcess> {
  return startHostProcess({
    app,
    env: {
      AzureWebJobsStorage: inject('azurite'),
      AzureFunctionsWebHost__hostid: container,
      AzureFunctionsJobHost__singleton__listenerLockPeriod: '00:00:15',
      AzureFunctionsJobHost__singleton__listenerLockRecoveryPollingInterval: '00:00:00.250',
      CONTAINER: container,
      INSTANCE_ID: instance,
    },
  });
}

const seen = ({ lines }: HostProcess) =>
  lines.filter((line) => line.startsWith('SEEN')).map((line) => JSON.parse(line.slice(5)));

test('each version of each blob that the path matches is seen once, across restarts and hosts', async () => {
  const name = `blobs-${randomUUID()}`;
  const container = storage.getContainerClient(name);
  const write = (blob: string, content: string, metadata = {}) =>
    container.getBlockBlobClient(blob).upload(content, content.length, { metadata });
  const first = await start(name, 'a');
  onTestFinished(() => first[Symbol.asyncDispose]());
  // The container comes after the host.
  await container.create();
  await write('incoming/a.b.png', 'one', { from: 'test' });
  await write('elsewhere/c.png', 'not this');
  await first.line(/SEEN/);
  expect(seen(first)).toEqual([
    {
      content: Buffer.from('one').toString('hex'),
      name: 'a',
      extension: 'b.png',
      blobTrigger: `${name}/incoming/a.b.png`,
      uri: container.getBlobClient('incoming/a.b.png').url,
      metadata: { from: 'test' },
    },
  ]);
  await write('incoming/a.b.png', 'two');
  await first.line(new RegExp(`SEEN.*${Buffer.from('two').toString('hex')}`));
  await using second = await start(name, 'b');
  first.kill('SIGINT');
  await first.exited;
  await write('incoming/d.png', 'three');
  await second.line(/SEEN/);
  expect(seen(second)).toMatchObject([{ name: 'd' }]);
});

test('a blob whose function keeps throwing is in the poison queue after poisonBlobThreshold tries', async () => {
  const name = `blobs-${randomUUID()}`;
  const container = storage.getContainerClient(name);
  await container.create();
  await container.getBlockBlobClient('incoming/bad.png').upload('x', 1);
  const poison = QueueServiceClient.fromConnectionString(inject('azurite')).getQueueClient(
    'webjobs-blobtrigger-poison',
  );
  await poison.deleteIfExists();
  await using host = await start(name, 'a');
  // The host creates the queue, then sends the message.
  const waiting = async () =>
    (await poison.exists()) ? (await poison.peekMessages()).peekedMessageItems.length : 0;
  await expect.poll(waiting, { timeout: 20_000 }).toBe(1);
  const { receivedMessageItems } = await poison.receiveMessages();
  const [message] = receivedMessageItems.map(({ messageText }) =>
    JSON.parse(Buffer.from(messageText, 'base64').toString()),
  );
  expect(message).toMatchObject({
    FunctionId: 'Host.Functions.onImage',
    ContainerName: name,
    BlobName: 'incoming/bad.png',
  });
  expect(seen(host)).toHaveLength(2);
});
