import type { BlockBlobClient, ContainerClient } from '@azure/storage-blob';
import {
  blobAnswer,
  blobError,
  escapeKey,
  etag,
  fromHeader,
  type LockMetadata,
  readablePart,
  view,
} from './blobFormat.ts';
import type { LockStore } from './lockStore.ts';

/** The calls of a lock store on blobs that operators need. */
export function blobLockOperations(
  locks: ContainerClient,
  blob: (key: string) => BlockBlobClient,
): Pick<LockStore, 'break' | 'list'> {
  return {
    async break(key, version, abortSignal) {
      try {
        const conditions = { ifMatch: etag(version) };
        await blob(key).getBlobLeaseClient().breakLease(0, { conditions, abortSignal });
        return 'broken';
      } catch (error) {
        const answer = blobAnswer(error);
        if (answer?.code === blobError.leaseNotPresent || answer?.code === blobError.leaseAlreadyBroken) {
          return 'notHeld';
        }
        if (answer?.status === 404 || answer?.status === 412) return 'changed';
        throw error;
      }
    },

    async *list(prefix, abortSignal) {
      try {
        const listed = locks.listBlobsFlat({
          prefix: commonNamePrefix(prefix),
          includeMetadata: true,
          abortSignal,
        });
        for await (const { properties, metadata } of listed) {
          const key = keyOfMetadata(metadata ?? {});
          if (key?.startsWith(prefix)) {
            yield { key, ...view(properties.leaseState, metadata, properties.etag) };
          }
        }
      } catch (error) {
        if (blobAnswer(error)?.code !== blobError.containerNotFound) throw error;
      }
    },
  };
}

/** The key in a lock's metadata. */
export function keyOfMetadata(metadata: LockMetadata): string | undefined {
  return metadata.key === undefined ? undefined : fromHeader(metadata.key);
}

/**
 * The common beginning of the blob names of all locks whose keys begin with `prefix`. It covers `prefix` only
 * up to the first slash, because hashed names keep no more of their keys. Other names may begin with it too:
 * filter by key.
 */
export function commonNamePrefix(prefix: string): string {
  const [folder = ''] = prefix.split('/', 1);
  // A trailing dot is escaped or not, depending on what follows it.
  return escapeKey(`${folder.replace(/\.+$/, '')}-`)
    .slice(0, -1)
    .slice(0, readablePart / 2);
}
