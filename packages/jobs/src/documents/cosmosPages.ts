import type { Container, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll } from './cosmosDocuments.ts';
import { continuationAt, type Page, placeOf } from './pages.ts';

/** End of a page: the time of its last item, and the number of items of that time which have been shown. */
const placeSchema = z.tuple([z.iso.datetime(), z.int().min(1)]);

/** Documents that are listed by a time of theirs. */
export interface ListByTime {
  /** Selected properties; all if absent. */
  select?: string;
  where: string;
  parameters: SqlParameter[];
  /** Property with the time (ISO 8601), which never changes. */
  by: string;
  order: 'ASC' | 'DESC';
  /** All partitions if absent. */
  partition?: string;
}

/**
 * One page in the order of a time, which is the continuation. Documents of the same millisecond have no order, so a change
 * between two pages may hide one. Items are as stored. @throws {BadContinuation}
 */
export async function pageByTime(
  container: Container,
  { select = '*', where, parameters, by, order, partition }: ListByTime,
  { pageSize, continuation }: { pageSize: number; continuation?: string },
): Promise<Page<unknown>> {
  const [at, shown] = continuation === undefined ? ['', 0] : placeOf(placeSchema, continuation);
  const behind = at === '' ? '' : ` AND c.${by} ${order === 'ASC' ? '>=' : '<='} @at`;
  const query = `SELECT ${select} FROM c WHERE ${where}${behind} ORDER BY c.${by} ${order} OFFSET @shown LIMIT @limit`;
  const more = Object.entries({ '@at': at, '@shown': shown, '@limit': pageSize + 1 });
  const all = [...parameters, ...more.map(([name, value]) => ({ name, value }))];
  const found = await queryAll(container, { query, parameters: all }, partition);
  const items = found.slice(0, pageSize);
  const last = timeOf(items.at(-1));
  if (found.length <= pageSize || last === undefined) return { items };
  const ofLast = items.filter((one) => timeOf(one) === last).length + (last === at ? shown : 0);
  return { items, continuation: continuationAt([last, ofLast]) };

  function timeOf(item: unknown): string | undefined {
    return z.object({ [by]: z.string() }).safeParse(item).data?.[by];
  }
}

/** The answer to `SELECT VALUE MIN(…) …` over times (ISO 8601); undefined over no item. @throws {StoreAway} */
export async function queryOldest(
  container: Container,
  query: string | SqlQuerySpec,
): Promise<string | undefined> {
  // Over no item the answer is empty, or one value that is undefined.
  return z.tuple([z.iso.datetime()]).safeParse(await queryAll(container, query)).data?.[0];
}

/** A condition of a query on one parameter. Without a value it does not apply. */
export interface QueryCondition {
  condition: string;
  /** With its `@`. */
  name: string;
  value: string | number | undefined;
}

/** The part of a query that limits it to documents of a type, if one is given, that meet all conditions. Pure. */
export function whereAll(type: string | undefined, conditions: readonly QueryCondition[]) {
  const asked = conditions.flatMap(({ value, ...rest }) => (value === undefined ? [] : [{ ...rest, value }]));
  const ofType = type === undefined ? 'true' : `c.type = '${type}'`;
  return {
    where: [ofType, ...asked.map(({ condition }) => condition)].join(' AND '),
    parameters: asked.map(({ name, value }) => ({ name, value })),
  };
}
