import { type ContainerClient, RestError } from '@azure/storage-blob';
import type { ReceiptStore } from './receipts.ts';

/** Milliseconds for an upload with its retries: on a socket that swallows everything the SDK waits for ever. */
const uploadTimeoutMs = 30_000;

export function blobReceipts(
  container: Pick<ContainerClient, 'getBlockBlobClient'>,
  { timeoutMs = uploadTimeoutMs }: { timeoutMs?: number } = {},
): ReceiptStore {
  return {
    async write(name, json, signal) {
      const blob = container.getBlockBlobClient(name);
      const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const blobHTTPHeaders = { blobContentType: 'application/json' };
      try {
        await blob.upload(json, Buffer.byteLength(json), { blobHTTPHeaders, abortSignal });
      } catch (error) {
        // With a retention policy a blob is written once. The same receipt again is no failure; an erased one is.
        if (!(error instanceof RestError) || error.code !== 'BlobImmutableDueToPolicy') throw error;
        const stored = await blob.downloadToBuffer(0, undefined, { abortSignal });
        if (stored.toString() !== json) throw error;
      }
    },
  };
}
