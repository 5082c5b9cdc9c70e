import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { ItemTable } from './compile/scope.ts';
import type { CompiledSelect } from './compile/select.ts';
import { identifier } from './compile/sources.ts';
import { atPath, quote } from './compile/typedSql.ts';

/**
 * Limit on the indexes that queries add to a table. An index is created when a query first needs it: the
 * partition key or its range, then the properties that the filter tests for equality, then those that the query sorts or
 * groups by, or failing those the ones that the filter limits to a range. A property takes two columns, its type's
 * rank and its value, which together sort as Cosmos sorts.
 */
const MAX_PER_TABLE = 32;

/** The index columns that serve a query best; none if it reads no items or must scan all of them anyway. */
export function indexFor(
  select: CompiledSelect,
  within: ItemTable['within'],
  isIndexed: (path: string) => boolean = () => true,
): string[] {
  if (!select.readsItems) return [];
  const { equal, several, range } = select.facts;
  const sorted = select.orderBy.flatMap(({ path, descending }) =>
    path === undefined ? [] : [{ path, descending }],
  );
  const leading = new Set([...equal].filter(isIndexed).sort());
  const following = [
    ...(sorted.length > 0 ? sorted : select.groupPaths.map((path) => ({ path, descending: false }))),
  ].filter(({ path }) => !leading.has(path));
  if (following.length === 0) {
    for (const path of [...several].filter(isIndexed).sort()) leading.add(path);
    // The first range is looked up. The others rule items out before they are read.
    for (const path of [...range].filter((of) => !leading.has(of) && isIndexed(of)).sort())
      following.push({ path, descending: false });
  } else if (sorted.some(({ path }) => path === '$."id"')) {
    // Behind the id, which has no ties, a range rules items out before they are read.
    const besides = [...range].filter((of) => isIndexed(of) && !leading.has(of)).sort();
    for (const path of besides) {
      if (!following.some((one) => one.path === path)) following.push({ path, descending: false });
    }
  }
  // The first sort key always ascends in the index: a backward scan serves the opposite order.
  const flipped = following[0]?.descending === true;
  return [
    ...(within === undefined ? [] : [within]),
    ...[...leading].flatMap((path) => columnsOf(path, '')),
    ...following.flatMap(({ path, descending }) => columnsOf(path, descending === flipped ? '' : ' DESC')),
  ];
}

function columnsOf(path: string, direction: string): string[] {
  if (path === '$."id"') return [`id${direction}`];
  const { rank, value } = atPath('doc', path);
  return [`${rank}${direction}`, `${value}${direction}`];
}

/** Creates the index unless the table has it, has one that starts with it, or has reached its limit. */
export function ensureIndex(db: DatabaseSync, table: string, columns: string[]): void {
  if (columns.length === 0) return;
  const prefix = `query_${table}_`;
  const rows = db
    .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?`)
    .all(table)
    .filter(({ name }) => String(name).startsWith(prefix));
  const wanted = columns.join(', ');
  const has = rows.some(({ sql }) => {
    const list = String(sql).slice(String(sql).indexOf('(') + 1, -1);
    // For the partition key alone no longer index will do: it returns a partition's rows out of item order.
    return list === wanted || (columns.length > 1 && list.startsWith(`${wanted}, `));
  });
  if (has || rows.length >= MAX_PER_TABLE) return;
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  db.exec(`CREATE INDEX IF NOT EXISTS ${identifier(prefix + hash)} ON ${identifier(table)} (${wanted})`);
}

/**
 * A table of the texts in an array of the items, or of those at `of` in its elements, kept by triggers: what `/names/[]/?` and
 * `/list/[]/name/?` are in an indexing policy.
 */
export function ensureElements(
  db: DatabaseSync,
  table: string,
  { path, of }: { path: string; of: string },
): string {
  const hash = createHash('sha256').update(`${path} ${of}`).digest('hex').slice(0, 12);
  const name = `elements_${table}_${hash}`;
  const [elements, items] = [identifier(name), identifier(table)];
  if (db.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(name) !== undefined) return elements;
  const each = (doc: string) => `json_each(${doc}, ${quote(path)}) AS e`;
  const isObject = `e.type = 'object' AND json_type(e.value, ${quote(of)}) = 'text'`;
  const [value, isText] =
    of === '$' ? ['e.value', `e.type = 'text'`] : [`json_extract(e.value, ${quote(of)})`, isObject];
  const add = `INSERT INTO ${elements} SELECT new.rid, ${value} FROM ${each('new.doc')} WHERE ${isText}`;
  const remove = `DELETE FROM ${elements} WHERE rid = old.rid`;
  const on = (event: string, statements: string) =>
    `CREATE TRIGGER ${identifier(`${name}_${event.slice(0, 3)}`)} AFTER ${event} ON ${items} BEGIN ${statements}; END;`;
  db.exec(`
    CREATE TABLE ${elements} (rid INTEGER NOT NULL, value TEXT NOT NULL);
    INSERT INTO ${elements} SELECT r.rid, ${value} FROM ${items} AS r, ${each('r.doc')} WHERE ${isText};
    CREATE INDEX ${identifier(`${name}_value`)} ON ${elements} (value, rid);
    CREATE INDEX ${identifier(`${name}_rid`)} ON ${elements} (rid);
    ${on('INSERT', add)}
    ${on('UPDATE OF doc', `${remove}; ${add}`)}
    ${on('DELETE', remove)}
  `);
  return elements;
}
