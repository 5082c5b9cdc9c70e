import type { Container } from '@azure/cosmos';
import { createUnlessThere, readDocument } from '../documents/cosmosDocuments.ts';
import { formatVersion } from '../documents/storedDocuments.ts';
import type { Effects } from './effects.ts';
import { effectName } from './workItem.ts';

export { cosmosPoisonStore } from './cosmosPoisonStore.ts';

/** Seconds that an effect is kept: 90 days, longer than any message. Redriven later, a poison item is repeated. */
const effectTtl = 90 * 24 * 3600;

/**
 * Effects in a Cosmos container with the partition key `/resourceId`: by resource, or by message for all that came in one. They
 * expire only if the container has TTL on (`defaultTtl: -1`).
 */
export function cosmosEffects(container: Container): Effects {
  const recorded = { version: formatVersion, status: 'done', ttl: effectTtl };
  return {
    async has(item) {
      return (await readDocument(container, item.resourceId, effectName(item))) !== undefined;
    },
    async record(item, effect) {
      const { resourceId, stage } = item;
      const document = { id: effectName(item), resourceId, stage, ...recorded, effect };
      await createUnlessThere(container, document);
    },
    async hasMessage(messageId) {
      return (await readDocument(container, messageId, messageId)) !== undefined;
    },
    async recordMessage(messageId, done) {
      const effects = done.map(({ item: { resourceId, stage, occasion }, effect }) => ({
        resourceId,
        stage,
        ...(occasion === undefined ? {} : { occasion }),
        effect,
      }));
      const document = { id: messageId, resourceId: messageId, ...recorded, effects };
      await createUnlessThere(container, document);
    },
  };
}
