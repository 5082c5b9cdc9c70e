import { createHash } from 'node:crypto';
import type { ContainerClient } from '@azure/storage-blob';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import type { ArchiveBlobs } from './archiveFile.ts';

export function blobArchive(container: ContainerClient): ArchiveBlobs {
  const upload = (name: string, bytes: Buffer, conditions: { ifMatch: string } | { ifNoneMatch: string }) =>
    container.getBlockBlobClient(name).upload(bytes, bytes.length, {
      conditions,
      blobHTTPHeaders: {
        blobContentType: 'application/jsonl',
        blobContentMD5: createHash('md5').update(bytes).digest(),
      },
      ...inTime(),
    });

  return {
    async create(name, text) {
      const bytes = Buffer.from(text);
      try {
        await upload(name, bytes, { ifNoneMatch: '*' });
        return 'stored';
      } catch (error) {
        if (blobStatus(error) !== 409 && blobStatus(error) !== 412) throw error;
        // Perhaps our own first try, whose answer was lost.
        return (await read(name)) === text ? 'stored' : 'taken';
      }
    },
    read,
    async rewrite(name, change) {
      for (;;) {
        const properties = await container
          .getBlockBlobClient(name)
          .getProperties(inTime())
          .catch(unlessMissing);
        const text = await read(name);
        if (properties?.etag === undefined || text === undefined) return false;
        const after = change(text);
        if (after === text) return true;
        try {
          await upload(name, Buffer.from(after), { ifMatch: properties.etag });
          return true;
        } catch (error) {
          // Somebody erases another invoice of the file, or our own first try was taken.
          if (blobStatus(error) !== 412) throw error;
        }
      }
    },
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
      return unlessMissing(error);
    }
  }
}

function unlessMissing(error: unknown): undefined {
  if (blobStatus(error) !== 404) throw error;
}
