import type { DatabaseSync } from 'node:sqlite';
import type { Container } from './container.ts';
import { badRequest } from './errors.ts';
import { feedCharge } from './requestCharge.ts';

/** Page size of a request that names none. */
const defaultPage = 100;
/** Page size of a request that asks for -1, which leaves it to the service. */
const dynamicPage = 1000;

/** The page size requested by `x-ms-max-item-count`. */
export function pageSizeOf(header: string | undefined): number {
  if (header === undefined || header === '') return defaultPage;
  const size = Number(header);
  if (size === -1) return dynamicPage;
  if (!Number.isInteger(size) || size < 1)
    throw badRequest(`The x-ms-max-item-count '${header}' is invalid.`);
  return size;
}

/** Source of a feed: a container, or one logical partition or one partition key range of it. */
export interface FeedSource {
  container: Container;
  partition: string | undefined;
  /** Number of the range. It is not looked at if there is a partition. */
  range: number | undefined;
  /** Unix seconds. Items that expired by then are not returned. */
  now: number;
  pageSize: number;
}

export interface FeedPage {
  docs: string[];
  charge: number;
}

/** All items in order of creation. The continuation is the row id of the previous page's last item. */
export function readFeed(
  db: DatabaseSync,
  { container, now, pageSize, ...source }: FeedSource,
  continuation: string | undefined,
): FeedPage & { continuation: string | undefined } {
  const after = continuation === undefined || continuation === '' ? 0 : Number(continuation);
  if (!Number.isInteger(after)) throw badRequest('Invalid Continuation Token');
  const within = withinOf(source);
  const rows = select(
    db,
    `SELECT rid, doc FROM "${container.table.name}"
     WHERE rid > ? AND (expires IS NULL OR expires > ?) ${within.condition}
     ORDER BY rid LIMIT ?`,
    [after, now, ...within.values, pageSize],
  );
  // A full page has a continuation, even if nothing is behind it, as with queries.
  const last = rows[pageSize - 1];
  return { ...pageOf(rows), continuation: last && String(last.rid) };
}

/**
 * The latest-version change feed: each item written after a given transaction, once, in transaction order.
 * The changes of one transaction stay on one page, however small the page size
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/change-feed-pull-model).
 *
 * @param position from `If-None-Match`: absent for the beginning, `*` for now, else the ETag of the
 *   previous page
 * @param since Unix seconds from `If-Modified-Since`
 */
export function readChangeFeed(
  db: DatabaseSync,
  { container, now, pageSize, ...source }: FeedSource,
  position: string | undefined,
  since: number | undefined,
): FeedPage & { etag: string } {
  if (position === '*') return { docs: [], etag: `"${container.lsn}"`, charge: feedCharge(0, 0) };
  const after = position === undefined || position === '' ? 0 : Number(position.replaceAll('"', ''));
  if (!Number.isInteger(after))
    throw badRequest(`The If-None-Match '${position}' is not a change feed position.`);
  const within = withinOf(source);
  const columns = `SELECT rid, doc, lsn FROM "${container.table.name}"`;
  const filter = `(expires IS NULL OR expires > ?) AND ts >= ? ${within.condition}`;
  const filterValues = [now, since ?? 0, ...within.values];
  const page = select(db, `${columns} WHERE lsn > ? AND ${filter} ORDER BY lsn, rid LIMIT ?`, [
    after,
    ...filterValues,
    pageSize,
  ]);
  const last = page.at(-1);
  const isFull = page.length === pageSize && last !== undefined;
  const rest = isFull
    ? select(db, `${columns} WHERE lsn = ? AND rid > ? AND ${filter} ORDER BY rid`, [
        last.lsn,
        last.rid,
        ...filterValues,
      ])
    : [];
  const changes = [...page, ...rest].map((row) => ({
    ...row,
    doc: `${row.doc.slice(0, -1)},"_lsn":${row.lsn}}`,
  }));
  return { ...pageOf(changes), etag: `"${isFull ? last.lsn : container.lsn}"` };
}

function withinOf({ partition, range }: Pick<FeedSource, 'partition' | 'range'>) {
  if (partition !== undefined) return { condition: 'AND pk = ?', values: [partition] };
  return range === undefined
    ? { condition: '', values: [] }
    : { condition: 'AND pkrange = ?', values: [range] };
}

interface FeedRow {
  rid: number;
  doc: string;
  lsn: number;
}

function select(db: DatabaseSync, sql: string, values: (string | number)[]): FeedRow[] {
  return db.prepare(sql).all(...values) as unknown as FeedRow[];
}

function pageOf(rows: FeedRow[]): FeedPage {
  const docs = rows.map(({ doc }) => doc);
  return {
    docs,
    charge: feedCharge(
      docs.length,
      docs.reduce((sum, { length }) => sum + length, 0),
    ),
  };
}
