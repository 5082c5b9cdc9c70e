import type { Container } from '@azure/cosmos';
import { cosmosStatus, createUnlessThere, fromCosmos } from '../documents/cosmosDocuments.ts';
import { formatVersion } from '../documents/storedDocuments.ts';
import type { Effects } from './effects.ts';
import { effectName } from './workItem.ts';

/** Effects in the Cosmos container `workItems`, whose partition key is the resource. */
export function cosmosEffects(container: Container): Effects {
  return {
    async has(item) {
      const { statusCode } = await fromCosmos(() => container.item(effectName(item), item.resourceId).read());
      return statusCode !== cosmosStatus.notFound;
    },
    async record(item, effect) {
      const { resourceId, stage } = item;
      const id = effectName(item);
      const document = { id, resourceId, stage, version: formatVersion, status: 'done', effect };
      await createUnlessThere(container, document);
    },
  };
}
