/** The documents of a Cosmos DB container, with transactions over one partition. */
export {
  cosmosDocuments,
  createUnlessThere,
  fromCosmos,
  type QueryCondition,
  queryAll,
  queryCount,
  queryOldest,
  readDocument,
  unlessRefused,
  whereAll,
} from './cosmosDocuments.ts';
export { type ListByTime, pageByTime } from './cosmosPages.ts';
