import type { DatabaseSync } from 'node:sqlite';
import { type Bound, toBound } from './compile/compilation.ts';
import { countOf, newCompilation } from './compile/rows.ts';
import { fingerprint, hasPlaces, type Position, readToken, writeToken } from './continuation.ts';
import { registerFunctions } from './functions/index.ts';
import { type PreparedQuery, prepareQuery, type QuerySource } from './statements.ts';
import { itemsVisited } from './visited.ts';

export { BadQuery, UnsupportedQuery } from './errors.ts';
export { needsMerging } from './mergePlan.ts';
export { keysOfFilter } from './partitionFilter.ts';
export { queryPlan } from './queryPlan.ts';

export type SqlQuery = { query: string; parameters: { name: string; value: unknown }[] };

/** `partition` is the canonical text of a partition key, or undefined for all. */
export type Source = QuerySource & { nowSeconds: number };

/** `maxItems` below 1 leaves the page size to the server. */
export type Page = { maxItems: number; continuation: string | undefined };

const DEFAULT_PAGE = 1000;
/** The service ends a page at 4 MB. Here a page ends with the result that takes it over. */
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Runs a query for one page of results, each as JSON text, so stored items need no parsing. `visited`: the items that it
 * had to read for them.
 */
export function runQueryToJson(
  db: DatabaseSync,
  source: Source,
  { query, parameters }: SqlQuery,
  page: Page,
): { json: string[]; continuation: string | undefined; visited: number } {
  registerFunctions(db);
  const visitedBefore = itemsVisited(db);
  const given = new Map(parameters.map(({ name, value }) => [name, value]));
  const print = fingerprint(source.table, source.partition, source.range, query, parameters);
  const position: Position =
    page.continuation === undefined ? { given: 0, from: { skip: 0 } } : readToken(page.continuation, print);
  const prepared = prepareQuery(db, source, query, given, position);
  const most = mostResults(prepared, given);
  const size = Math.min(page.maxItems < 1 ? DEFAULT_PAGE : page.maxItems, most.results - position.given);
  const rows = rowsOf(prepared, {
    ...prepared.to.constants,
    ...boundParameters(prepared, given),
    ...boundPlace(position),
    now: source.nowSeconds,
    ...(source.partition === undefined ? {} : { pk: source.partition }),
    ...(source.range === undefined ? {} : { pkrange: source.range }),
    limit: Math.max(size, 0),
    offset: 'after' in position.from ? 0 : most.skipped + position.from.skip,
  });
  const read = readPage(rows, size, { position, prepared, print, results: most.results });
  return { ...read, visited: itemsVisited(db) - visitedBefore };
}

/**
 * Runs a query for one page of parsed results.
 *
 * @throws {BadQuery} 400
 * @throws {UnsupportedQuery} 501
 */
export function runQuery(
  db: DatabaseSync,
  source: Source,
  query: SqlQuery,
  page: Page,
): { items: unknown[]; continuation: string | undefined } {
  const { json, continuation } = runQueryToJson(db, source, query, page);
  return { items: json.map((text): unknown => JSON.parse(text)), continuation };
}

function* rowsOf({ statements }: PreparedQuery, bound: Record<string, Bound>): Iterable<unknown> {
  for (const statement of statements) yield* statement.iterate(bound);
}

type Reading = { position: Position; prepared: PreparedQuery; print: string; results: number };

/**
 * A page that is full has a continuation, even if nothing is behind it: the service does not look ahead either. Only a
 * query that has given all the results it can give ends with a full page.
 */
function readPage(
  rows: Iterable<unknown>,
  size: number,
  { position, prepared, print, results }: Reading,
): { json: string[]; continuation: string | undefined } {
  const json: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (!Array.isArray(row)) throw new Error('SQLite returned a row that is not an array');
    const [text, ...columns] = row as unknown[];
    json.push(String(text));
    bytes += String(text).length;
    if (json.length < size && bytes <= PAGE_BYTES) continue;
    const given = position.given + json.length;
    if (given >= results) break;
    const skipped = 'skip' in position.from ? position.from.skip : 0;
    const from = hasPlaces(prepared.select)
      ? { after: columns.map((value) => (typeof value === 'bigint' ? Number(value) : (value as Bound))) }
      : { skip: skipped + json.length };
    return { json, continuation: writeToken({ given, from }, print) };
  }
  return { json, continuation: undefined };
}

/** Evaluates TOP, or OFFSET and LIMIT, whose parameters may vary between runs of the same statement. An aggregate has one result. */
function mostResults(
  { query, select }: PreparedQuery,
  given: ReadonlyMap<string, unknown>,
): { results: number; skipped: number } {
  const counts = newCompilation(given);
  const all = select.aggregated && select.groups.length === 0 ? 1 : Number.POSITIVE_INFINITY;
  const results = countOf(query.top, counts) ?? countOf(query.limit, counts) ?? all;
  return { results, skipped: countOf(query.offset, counts) ?? 0 };
}

function boundParameters({ to }: PreparedQuery, given: ReadonlyMap<string, unknown>): Record<string, Bound> {
  return Object.fromEntries(
    [...to.usedParameters].map(([name, bindName]) => [bindName, toBound(given.get(name))]),
  );
}

function boundPlace(position: Position): Record<string, Bound> {
  if (!('after' in position.from)) return {};
  return Object.fromEntries(position.from.after.map((value, index) => [`a${index}`, value]));
}
