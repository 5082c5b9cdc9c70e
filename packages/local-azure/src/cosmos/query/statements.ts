import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SortedPath } from '../indexingPolicy.ts';
import type { Query } from './ast.ts';
import { type Compilation, kindOf } from './compile/compilation.ts';
import { renderRows } from './compile/render.ts';
import { newCompilation } from './compile/rows.ts';
import { type CompiledSelect, compileSelect } from './compile/select.ts';
import { hasPlaces, type Position, placeColumns, resume } from './continuation.ts';
import { BadQuery } from './errors.ts';
import { ensureElements, ensureIndex, indexFor } from './indexes.ts';
import { parse } from './parse/query.ts';

/** A query ready to run. Its SQL depends on the types of the parameters, not on their values. */
export type PreparedQuery = {
  /** Run these in turn until the page is full. */
  statements: StatementSync[];
  select: CompiledSelect;
  query: Query;
  to: Compilation;
};

const MAX_CACHED = 500;
const caches = new WeakMap<DatabaseSync, Map<string, PreparedQuery>>();

export type QuerySource = {
  table: string;
  partition: string | undefined;
  /** The partition key range to look into. Absent: all of them, or that of the partition. */
  range?: number | undefined;
  /** Set for a table of one row, where an index costs more per write than it saves. */
  unindexed?: boolean;
  /** True if the container's indexes cover a property, given as names. Absent: they cover every property. */
  isIndexed?: (path: readonly string[]) => boolean;
  /** Throws if the container's indexes cannot serve what the query sorts by. */
  requireSortIndex?: (sorted: readonly SortedPath[]) => void;
};

/** Prepares a query, or takes it from the cache. */
export function prepareQuery(
  db: DatabaseSync,
  source: QuerySource,
  text: string,
  parameters: ReadonlyMap<string, unknown>,
  position: Position,
): PreparedQuery {
  const cache = caches.get(db) ?? new Map<string, PreparedQuery>();
  caches.set(db, cache);
  const key = JSON.stringify([
    source.table,
    withinOf(source),
    text,
    [...parameters].map(([name, value]) => [
      name,
      value === null || value === undefined ? String(value) : kindOf(value),
    ]),
    'after' in position.from ? position.from.after.map((value) => value === null) : null,
  ]);
  const cached = cache.get(key);
  if (cached !== undefined) return served(cached, source);
  const prepared = compiled(() => compileQuery(db, source, text, parameters, position));
  if (prepared.to.fixedValues) return served(prepared, source);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(key, prepared);
  return served(prepared, source);
}

function withinOf({ partition, range }: QuerySource) {
  if (partition !== undefined) return 'pk';
  return range === undefined ? undefined : 'pkrange';
}

/** The query, if the container's indexes serve it. Checked at each run, because the policy may be replaced. */
function served(prepared: PreparedQuery, { requireSortIndex }: QuerySource): PreparedQuery {
  requireSortIndex?.(sortedPaths(prepared.select));
  return prepared;
}

/** Keys that are no stored properties need no index. */
function sortedPaths({ orderBy }: CompiledSelect): SortedPath[] {
  return orderBy.flatMap(({ path, descending }) =>
    path === undefined ? [] : [{ path: namesOf(path), descending }],
  );
}

/** `$."payment"."id"` as names. */
function namesOf(path: string): string[] {
  const parts = [...path.matchAll(/\."((?:[^"\\]|\\.)*)"|(\[\d+\])/g)];
  return parts.map(([, name, element]) => (element === undefined ? (name ?? '') : '[]'));
}

/** A query too deep for the stack or for SQLite's parser is a bad query: the service refuses it too. */
function compiled(compile: () => PreparedQuery): PreparedQuery {
  try {
    return compile();
  } catch (cause) {
    const tooDeep =
      cause instanceof RangeError ||
      (cause instanceof Error &&
        /Expression tree is too large|Recursion limit|stack overflow/.test(cause.message));
    if (!tooDeep) throw cause;
    const reason = 'The query is nested too deeply or has too many conditions.';
    throw new BadQuery(reason, undefined, undefined, { cause });
  }
}

function compileQuery(
  db: DatabaseSync,
  source: QuerySource,
  text: string,
  parameters: ReadonlyMap<string, unknown>,
  position: Position,
): PreparedQuery {
  const query = parse(text);
  const to = newCompilation(parameters);
  const within = withinOf(source);
  const indexed = (path: string) => source.isIndexed?.(namesOf(path)) !== false;
  to.elementsAt = (path, property) => {
    const of = property === undefined ? '' : `.${JSON.stringify(property)}`;
    if (source.unindexed === true || !indexed(`${path}[0]${of}`)) return undefined;
    return ensureElements(db, source.table, { path, of: `$${of}` });
  };
  const select = compileSelect(query, undefined, { table: source.table, within }, to);
  if (source.unindexed !== true) ensureIndex(db, source.table, indexFor(select, within, indexed));
  const columns = hasPlaces(select) ? placeColumns(select) : [];
  const { from } = position;
  const parts = 'after' in from ? resume(select, from.after) : [{ select, condition: '' }];
  const statements = parts.map((part) => {
    const sql = renderRows(part.select, columns, 'LIMIT :limit OFFSET :offset', part.condition);
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    statement.setAllowUnknownNamedParameters(true);
    return statement;
  });
  return { statements, select, query, to };
}
