import { createHash } from 'node:crypto';
import type { ContainerClient, RestError } from '@azure/storage-blob';
import type { ArchiveBlobs } from './archiveBlobs.ts';

/** Milliseconds for one request with its retries. */
const timeoutMs = 20_000;

/** The archive as blobs in a container, each written once. */
export function blobArchive(container: ContainerClient): ArchiveBlobs {
  return {
    async create(name, text) {
      const bytes = Buffer.from(text);
      try {
        await container.getBlockBlobClient(name).upload(bytes, bytes.length, {
          conditions: { ifNoneMatch: '*' },
          blobHTTPHeaders: {
            blobContentType: 'application/jsonl',
            blobContentMD5: createHash('md5').update(bytes).digest(),
          },
          ...inTime(),
        });
        return 'stored';
      } catch (error) {
        if (statusOf(error) !== 409 && statusOf(error) !== 412) throw error;
        // Perhaps our own first try, whose answer was lost.
        return (await read(name)) === text ? 'stored' : 'taken';
      }
    },
    read,
    async *list(prefix) {
      const pages = container.listBlobsFlat({ prefix }).byPage({ maxPageSize: 5_000 });
      for await (const { segment } of pages) yield* segment.blobItems.map(({ name }) => name);
    },
  };

  async function read(name: string): Promise<string | undefined> {
    try {
      const bytes = await container.getBlockBlobClient(name).downloadToBuffer(0, undefined, inTime());
      return bytes.toString();
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }
}

function statusOf(error: unknown): RestError['statusCode'] {
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined;
}

function inTime() {
  return { abortSignal: AbortSignal.timeout(timeoutMs) };
}
