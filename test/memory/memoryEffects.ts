import type { Effects, RecordedEffect } from '../../src/workItems/effects.ts';
import { effectName, type WorkItem } from '../../src/workItems/workItem.ts';

export interface MemoryEffects extends Effects {
  /** Every recorded effect, those of messages too. */
  all(): { item: WorkItem; effect: RecordedEffect }[];
}

/** Effects in memory. */
export function memoryEffects(): MemoryEffects {
  const ofItems = new Map<string, { item: WorkItem; effect: RecordedEffect }>();
  const ofMessages = new Map<string, readonly { item: WorkItem; effect: RecordedEffect }[]>();
  const keyOf = (item: WorkItem) => JSON.stringify([item.resourceId, effectName(item)]);
  return {
    has: async (item) => ofItems.has(keyOf(item)),
    async record(item, effect) {
      if (!ofItems.has(keyOf(item))) ofItems.set(keyOf(item), { item, effect });
    },
    hasMessage: async (messageId) => ofMessages.has(messageId),
    async recordMessage(messageId, done) {
      if (!ofMessages.has(messageId)) ofMessages.set(messageId, done);
    },
    all: () => [...ofItems.values(), ...[...ofMessages.values()].flat()],
  };
}
