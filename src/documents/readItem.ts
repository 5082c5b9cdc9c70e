import type { Container } from '@azure/cosmos';
import { cosmosStatus } from './cosmosErrors.ts';

/** Bytes of UTF-8 in an id (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits). */
const longestId = 1023;

/**
 * Reads one document; undefined where there is none. That goes for ids too that no document can have, for which the SDK
 * throws or the service answers 400: whoever asks by an id from outside need not know of them.
 */
export async function readItem(container: Container, partition: string, id: string): Promise<unknown> {
  if (!canBeId(id)) return undefined;
  const { statusCode, resource } = await container.item(id, partition).read();
  return statusCode === cosmosStatus.notFound ? undefined : resource;
}

function canBeId(id: string): boolean {
  return (
    /^[^/\\?#]+$/.test(id) && !id.endsWith(' ') && id.isWellFormed() && Buffer.byteLength(id) <= longestId
  );
}
