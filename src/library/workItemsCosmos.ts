/** `payonce/work-items/cosmos`: effects and poison records in a Cosmos DB container with the partition key `/resourceId`. */
export { cosmosEffects } from '../workItems/cosmosEffects.ts';
export { cosmosPoisonStore } from '../workItems/cosmosPoisonStore.ts';
