import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosStatus, fromCosmos } from './cosmosDocuments.ts';

const countSchema = z.tuple([z.number()]);
const timeSchema = z.tuple([z.iso.datetime()]);

/** Bytes of UTF-8 in an id (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits). */
const longestId = 1023;

/**
 * Reads one document; undefined if there is none. That includes ids that no document can have, for which the SDK throws
 * or the service answers 400: callers pass ids from outside. @throws {StoreAway}
 */
export async function readDocument(container: Container, partition: string, id: string): Promise<unknown> {
  if (!canBeId(id)) return undefined;
  const { statusCode, resource } = await fromCosmos(() => container.item(id, partition).read());
  return statusCode === cosmosStatus.notFound ? undefined : resource;
}

/** Everything that a query finds, over all partitions or in one. @throws {StoreAway} */
export async function queryAll(
  container: Container,
  query: string | SqlQuerySpec,
  partition?: string,
): Promise<unknown[]> {
  const options = partition === undefined ? {} : { partitionKey: partition };
  const { resources } = await fromCosmos(() => container.items.query<unknown>(query, options).fetchAll());
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

/** A condition of a query on one parameter. Without a value it does not apply. */
export interface Condition {
  condition: string;
  /** With its `@`. */
  name: string;
  value: string | undefined;
}

/** What limits a query to the documents of a type that meet all conditions. Pure. */
export function whereAll(type: string, conditions: readonly Condition[]) {
  const asked = conditions.flatMap(({ value, ...rest }) => (value === undefined ? [] : [{ ...rest, value }]));
  return {
    where: [`c.type = '${type}'`, ...asked.map(({ condition }) => condition)].join(' AND '),
    parameters: asked.map(({ name, value }) => ({ name, value })),
  };
}

function canBeId(id: string): boolean {
  // A URL drops . and .., so the request would be for something else; the SDK takes white space for no id at all.
  if (!/^(?!\.{1,2}$)[^/\\?#]+$/.test(id) || id.trim() === '' || id.endsWith(' ')) return false;
  return id.isWellFormed() && Buffer.byteLength(id) <= longestId;
}
