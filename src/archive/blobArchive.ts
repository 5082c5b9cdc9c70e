import { createHash } from 'node:crypto';
import type { ContainerClient } from '@azure/storage-blob';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import type { ArchiveBlobs } from './archiveBlobs.ts';

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
        if (blobStatus(error) !== 409 && blobStatus(error) !== 412) throw error;
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
      if (blobStatus(error) === 404) return undefined;
      throw error;
    }
  }
}
