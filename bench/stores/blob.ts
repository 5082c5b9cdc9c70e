import { randomUUID } from 'node:crypto';
import { ContainerClient } from '@azure/storage-blob';
import { startAzurite } from '../../packages/local-azure/src/azurite.ts';
import type { BenchStoreKind } from './benchStore.ts';

/** Blob leases on Azurite. */
export const blob: BenchStoreKind = {
  name: 'blob (Azurite)',
  programs: {},
  leaseMs: 15_000,
  async start() {
    const azurite = await startAzurite();
    const { connectionString } = azurite;
    const port = Number(/BlobEndpoint=http:\/\/[^:]+:(\d+)/.exec(connectionString)?.[1]);
    const container = new ContainerClient(connectionString, 'raw', { retryOptions: { maxTries: 1 } });
    await container.create();
    return {
      ports: [port],
      address: (at) => ({
        kind: 'blob',
        connectionString: connectionString.replace(`:${port}/`, `:${at(port)}/`),
        container: 'locks',
      }),
      raw: {
        prepare: async (key) => void (await container.getBlockBlobClient(key).upload('', 0)),
        async cycle(key) {
          const blob = container.getBlockBlobClient(key);
          const { metadata, etag = '' } = await blob.getProperties();
          const leaseId = randomUUID();
          const lease = blob.getBlobLeaseClient(leaseId);
          await lease.acquireLease(30);
          const fence = String(Number(metadata?.fence ?? 0) + 1);
          const since = new Date().toISOString();
          const written = { key, instance: 'bench', job: 'bench', since, leasems: '30000', fence };
          await blob.setMetadata(written, { conditions: { leaseId, ifMatch: etag } });
          await lease.releaseLease();
        },
      },
      [Symbol.asyncDispose]: () => azurite.stop(),
    };
  },
};
