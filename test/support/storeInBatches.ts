import { BulkOperationType, type Container, type OperationInput } from '@azure/cosmos';

/** Operations of one transaction. */
const atOnce = 100;

/** Writes these in as few transactions as can be. */
export async function inBatches(
  container: Container,
  partition: string,
  operations: readonly OperationInput[],
): Promise<void> {
  for (let from = 0; from < operations.length; from += atOnce) {
    const { result = [] } = await container.items.batch(operations.slice(from, from + atOnce), partition);
    const failed = result.filter(({ statusCode }) => statusCode >= 300);
    if (failed.length > 0) throw new Error(JSON.stringify(failed));
  }
}

/** Stores documents of the invoices' container as they are. */
export async function storeInBatches(
  container: Container,
  documents: readonly { id: string; shard: string }[],
): Promise<void> {
  for (const [shard, all] of Map.groupBy(documents, (document) => document.shard)) {
    const operations = all.map((document) => ({
      operationType: BulkOperationType.Upsert,
      resourceBody: { ...document },
    }));
    await inBatches(container, shard, operations);
  }
}
