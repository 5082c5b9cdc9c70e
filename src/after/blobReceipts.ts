import type { ContainerClient } from '@azure/storage-blob';
import type { ReceiptStore } from './receipts.ts';

/** Milliseconds for an upload with its retries: on a socket that swallows everything the SDK waits for ever. */
const uploadTimeoutMs = 30_000;

/** Receipts as JSON blobs in a container. */
export function blobReceipts(
  container: Pick<ContainerClient, 'getBlockBlobClient'>,
  { timeoutMs = uploadTimeoutMs }: { timeoutMs?: number } = {},
): ReceiptStore {
  return {
    async write(name, json, signal) {
      await container.getBlockBlobClient(name).upload(json, Buffer.byteLength(json), {
        blobHTTPHeaders: { blobContentType: 'application/json' },
        abortSignal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
    },
  };
}
