import { DatabaseSync } from 'node:sqlite';
import { createItemTable, tableName } from '../../../src/cosmos/itemTable.ts';
import { runQuery } from '../../../src/cosmos/query/index.ts';

export const NOW_SECONDS = 1_800_000_000;
const TABLE = tableName(1);

export type Item = Record<string, unknown>;

/** A container's table with these items, in order. `p` is the partition key. */
export function tableOfItems(items: readonly Item[]) {
  const db = new DatabaseSync(':memory:');
  createItemTable(db, 1, []);
  const insert = db.prepare(
    `INSERT INTO "${TABLE}" (pk, id, doc, etag, ts, lsn, expires) VALUES (?, ?, ?, '', 0, 0, ?)`,
  );
  let added = 0;
  const partitionOf = (key: unknown) => JSON.stringify(key === undefined ? [] : [key]);

  function add(item: Item, expires: number | null = null): void {
    added++;
    const doc = { id: `i${added}`, ...item };
    insert.run(partitionOf(item.p), doc.id, JSON.stringify(doc), expires);
  }

  /** One page. `partition` is the value of the partition key. */
  function page(
    query: string,
    parameters: Record<string, unknown> = {},
    {
      partition,
      maxItems = 1000,
      continuation,
    }: { partition?: unknown; maxItems?: number; continuation?: string | undefined } = {},
  ) {
    const named = Object.entries(parameters).map(([name, value]) => ({ name: `@${name}`, value }));
    return runQuery(
      db,
      {
        table: TABLE,
        partition: partition === undefined ? undefined : partitionOf(partition),
        nowSeconds: NOW_SECONDS,
      },
      { query, parameters: named },
      { maxItems, continuation },
    );
  }

  /** All results, read in pages of `maxItems`. */
  function all(
    query: string,
    parameters: Record<string, unknown> = {},
    options: { partition?: unknown; maxItems?: number } = {},
  ): unknown[] {
    const items: unknown[] = [];
    let continuation: string | undefined;
    do {
      if (items.length > 10_000) throw new Error('the pages do not end');
      const next = page(query, parameters, { ...options, continuation });
      items.push(...next.items);
      continuation = next.continuation;
    } while (continuation !== undefined);
    return items;
  }

  for (const item of items) add(item);
  return { db, table: TABLE, add, page, all };
}

/** The value of an expression over an empty container; undefined if there is no result. */
export function valueOfExpression(expression: string, parameters: Record<string, unknown> = {}): unknown {
  return EMPTY.all(`SELECT VALUE ${expression}`, parameters)[0];
}

const EMPTY = tableOfItems([]);
