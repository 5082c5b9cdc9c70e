/** The documents of a Cosmos DB container, with transactions over one partition. */
export {
  cosmosDocuments,
  createUnlessThere,
  fromCosmos,
  queryAll,
  queryCount,
  readDocument,
  unlessRefused,
} from './cosmosDocuments.ts';
export { type ListByTime, pageByTime, type QueryCondition, queryOldest, whereAll } from './cosmosPages.ts';
