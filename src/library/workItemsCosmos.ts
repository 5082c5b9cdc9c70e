/** `payonce/work-items/cosmos`: effects and poison records in a Cosmos DB container with the partition key `/resourceId`. */
export { cosmosEffects, cosmosPoisonStore } from '../workItems/cosmosWorkItems.ts';
