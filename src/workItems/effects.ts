import type { Container } from '@azure/cosmos';
import { cosmosStatus, statusOf } from '../documents/cosmosErrors.ts';
import type { Effect } from './defineStage.ts';
import { effectName, type WorkItem } from './workItem.ts';

/** Where effects of work items are recorded: one document each, written once. */
export interface Effects {
  /** Whether the effect of this work item is recorded already. */
  has(item: WorkItem): Promise<boolean>;
  /** Records an effect. The first record stays: a second one changes nothing. */
  record(item: WorkItem, effect: Effect & { at: string; by: string }): Promise<void>;
}

/** Effects in the Cosmos container `workItems`, whose partition key is the resource. */
export function cosmosEffects(container: Container): Effects {
  return {
    async has(item) {
      const { statusCode } = await container.item(effectName(item), item.resourceId).read();
      return statusCode !== cosmosStatus.notFound;
    },
    async record(item, effect) {
      const { resourceId, stage } = item;
      try {
        await container.items.create({ id: effectName(item), resourceId, stage, status: 'done', effect });
      } catch (error) {
        if (statusOf(error) !== cosmosStatus.conflict) throw error;
      }
    },
  };
}
