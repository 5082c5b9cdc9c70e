/** `payonce/claims/cosmos`: the documents of a Cosmos DB container, with transactions over one partition. */
export { cosmosDocuments } from '../documents/cosmosDocuments.ts';
