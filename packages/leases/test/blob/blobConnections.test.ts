import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AnonymousCredential, BlobServiceClient } from '@azure/storage-blob';
import { expect, test } from 'vitest';
import { blobLockStore } from '../../src/blobLockStore.ts';

test('renewals have connections of their own, and keep them', async () => {
  const lockPorts = new Set<number | undefined>();
  const otherPorts = new Set<number | undefined>();
  const server = createServer((request, response) => {
    (request.url?.includes('/locks/') ? lockPorts : otherPorts).add(request.socket.remotePort);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const account = new BlobServiceClient(`http://127.0.0.1:${port}/account`, new AnonymousCredential());
    await using store = blobLockStore(account.getContainerClient('locks'));
    for (let n = 0; n < 3; n++) {
      await account.getContainerClient('receipts').exists();
      await store.renew('jobs/a', randomUUID(), 30_000, AbortSignal.timeout(5_000));
    }
    expect(lockPorts.size).toBe(1);
    expect([...otherPorts].filter((one) => lockPorts.has(one))).toEqual([]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
