import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ContainerClient } from '@azure/storage-blob';

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Texts too large for a queue message or table property, gzipped in container `{hub}-largemessages`. */
export interface LargeTexts {
  /** Resolves with the blob's name. */
  put(instanceId: string, text: string): Promise<string>;
  get(name: string): Promise<string>;
  removeAll(instanceId: string): Promise<void>;
}

export function largeTexts(container: ContainerClient): LargeTexts {
  const folder = (instanceId: string) => `${encodeURIComponent(instanceId)}/`;
  return {
    async put(instanceId, text) {
      const name = `${folder(instanceId)}${randomUUID()}.json.gz`;
      await container.getBlockBlobClient(name).uploadData(await pack(text));
      return name;
    },
    async get(name) {
      return (await unpack(await container.getBlockBlobClient(name).downloadToBuffer())).toString();
    },
    async removeAll(instanceId) {
      for await (const { name } of container.listBlobsFlat({ prefix: folder(instanceId) })) {
        await container.deleteBlob(name);
      }
    },
  };
}
