import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Query } from './ast.ts';
import { type Compilation, kindOf } from './compile/compilation.ts';
import { renderRows } from './compile/render.ts';
import { newCompilation } from './compile/rows.ts';
import { type CompiledSelect, compileSelect } from './compile/select.ts';
import { hasPlaces, type Position, placeColumns, resume } from './continuation.ts';
import { ensureIndex, indexFor } from './indexes.ts';
import { parse } from './parse/query.ts';

/** A query ready to run: its SQL does not depend on the parameters' values, only on their types. */
export type PreparedQuery = {
  /** To be run one after the other until the page is full. */
  statements: StatementSync[];
  select: CompiledSelect;
  query: Query;
  to: Compilation;
};

const MOST_CACHED = 500;
const caches = new WeakMap<DatabaseSync, Map<string, PreparedQuery>>();

export type QuerySource = { table: string; partition: string | undefined };

/** The query as a prepared statement, from the cache where the same text came before. */
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
    source.partition !== undefined,
    text,
    [...parameters].map(([name, value]) => [
      name,
      value === null || value === undefined ? String(value) : kindOf(value),
    ]),
    'after' in position.from ? position.from.after.map((value) => value === null) : null,
  ]);
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const prepared = compileQuery(db, source, text, parameters, position);
  if (prepared.to.fixedValues) return prepared;
  if (cache.size >= MOST_CACHED) cache.clear();
  cache.set(key, prepared);
  return prepared;
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
  const byPartition = source.partition !== undefined;
  const select = compileSelect(query, undefined, { table: source.table, partition: byPartition }, to);
  ensureIndex(db, source.table, indexFor(select, byPartition));
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
