import type { Container } from '@azure/cosmos';
import { cosmosStatus, statusOf } from '../platform/cosmosErrors.ts';
import type { Effect } from './defineStage.ts';

/** Where effects of stages are recorded: one document per resource and stage, written once. */
export interface Effects {
  /** Whether the effect of this stage for this resource is recorded already. */
  has(resourceId: string, stage: string): Promise<boolean>;
  /** Records an effect. The first record stays: a second one changes nothing. */
  record(resourceId: string, stage: string, effect: Effect & { at: string; by: string }): Promise<void>;
}

/** Effects in the Cosmos container `workItems`, whose partition key is the resource. */
export function cosmosEffects(container: Container): Effects {
  return {
    async has(resourceId, stage) {
      const { statusCode } = await container.item(stage, resourceId).read();
      return statusCode !== cosmosStatus.notFound;
    },
    async record(resourceId, stage, effect) {
      try {
        await container.items.create({ id: stage, resourceId, stage, status: 'done', effect });
      } catch (error) {
        if (statusOf(error) !== cosmosStatus.conflict) throw error;
      }
    },
  };
}
