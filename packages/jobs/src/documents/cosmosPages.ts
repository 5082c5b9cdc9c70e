import type { Container, SqlParameter } from '@azure/cosmos';
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
 * One page in the order of a time. Its continuation is the last time: the service gives no token for an order over several
 * partitions. Documents of the same millisecond have no order among themselves, so a change of one between two pages may
 * hide another. Items are as they are stored. @throws {BadContinuation}
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
