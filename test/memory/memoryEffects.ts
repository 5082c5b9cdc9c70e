import type { Effects, RecordedEffect } from '../../packages/jobs/src/workItems/effects.ts';
import { effectName, type WorkItem } from '../../packages/jobs/src/workItems/workItem.ts';

export interface MemoryEffects extends Effects {
  /** Every recorded effect, those of messages too. */
  all(): { item: WorkItem; effect: RecordedEffect }[];
  /** Forgets the records that are not to be kept, by the key of their work item or the id of their message. */
  keep(isKept: (name: string) => boolean): void;
}

/** Names the effect of a work item among those of all. */
export function effectKey(item: Pick<WorkItem, 'resourceId' | 'stage' | 'occasion'>): string {
  return JSON.stringify([item.resourceId, effectName(item)]);
}

/** Effects in memory. */
export function memoryEffects(): MemoryEffects {
  const ofItems = new Map<string, { item: WorkItem; effect: RecordedEffect }>();
  const ofMessages = new Map<string, readonly { item: WorkItem; effect: RecordedEffect }[]>();
  return {
    has: async (item) => ofItems.has(effectKey(item)),
    async record(item, effect) {
      if (!ofItems.has(effectKey(item))) ofItems.set(effectKey(item), { item, effect });
    },
    hasMessage: async (messageId) => ofMessages.has(messageId),
    async recordMessage(messageId, done) {
      if (!ofMessages.has(messageId)) ofMessages.set(messageId, done);
    },
    all: () => [...ofItems.values(), ...[...ofMessages.values()].flat()],
    keep(isKept) {
      for (const records of [ofItems, ofMessages])
        for (const name of records.keys()) if (!isKept(name)) records.delete(name);
    },
  };
}
