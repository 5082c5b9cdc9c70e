import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import { fromCosmos } from './cosmosDocuments.ts';

const countSchema = z.tuple([z.number()]);
const timeSchema = z.tuple([z.iso.datetime()]);
const countsByStatusSchema = z.array(z.object({ status: z.string(), n: z.number() }));

/** Everything that a query over all partitions finds. @throws {StoreAway} */
export async function queryAll(container: Container, query: string | SqlQuerySpec): Promise<unknown[]> {
  const { resources } = await fromCosmos(() => container.items.query<unknown>(query).fetchAll());
  return resources;
}

/** The answer to `SELECT VALUE COUNT(1) …`. @throws {StoreAway} */
export async function queryCount(container: Container, query: string | SqlQuerySpec): Promise<number> {
  return countSchema.parse(await queryAll(container, query))[0];
}

/** The answer to `SELECT VALUE MIN(…) …` over times (ISO 8601); undefined over no item. @throws {StoreAway} */
export async function queryOldest(
  container: Container,
  query: string | SqlQuerySpec,
): Promise<string | undefined> {
  // Over no item the answer is empty, or one value that is undefined.
  return timeSchema.safeParse(await queryAll(container, query)).data?.[0];
}

/** How many documents of a type have each status. @throws {StoreAway} */
export async function countByStatus(container: Container, type: string): Promise<Map<string, number>> {
  const query = 'SELECT c.status, COUNT(1) AS n FROM c WHERE c.type = @type GROUP BY c.status';
  const found = await queryAll(container, { query, parameters: [{ name: '@type', value: type }] });
  return new Map(countsByStatusSchema.parse(found).map(({ status, n }) => [status, n]));
}
