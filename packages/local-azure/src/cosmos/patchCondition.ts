import { DatabaseSync } from 'node:sqlite';
import { createItemTable, type ItemRow, tableName } from './itemTable.ts';
import type { JsonObject } from './json.ts';
import { queryToJson } from './queries.ts';
import { createSimpleConditions } from './simpleCondition.ts';

/** True if a patch's `condition` (`FROM c WHERE …`) holds for an item: as stored, and parsed. */
export type ConditionCheck = (
  condition: string,
  stored: Pick<ItemRow, 'doc'>,
  item: JsonObject,
  now: number,
) => boolean;

/** Checks a simple condition on the parsed item, and any other by a query. */
export function createConditionCheck(): ConditionCheck {
  const simple = createSimpleConditions();
  const byQuery = createQueryCheck();
  return (condition, stored, item, now) => simple(condition)?.(item) ?? byQuery(condition, stored, item, now);
}

/**
 * Checks any condition. The query runs on a separate table that contains only that item, so neither the
 * container's size nor its indexes matter.
 */
export function createQueryCheck(): ConditionCheck {
  const db = new DatabaseSync(':memory:');
  createItemTable(db, 0, []);
  const table = tableName(0);
  const put = db.prepare(
    `INSERT OR REPLACE INTO "${table}" (rid, pk, id, doc, etag, ts, lsn, expires) VALUES (1, '[]', '', ?, '', 0, 0, NULL)`,
  );
  return (condition, { doc }, _, now) => {
    put.run(doc);
    const page = queryToJson(
      db,
      { table, partition: undefined, unindexed: true, nowSeconds: now },
      { query: `SELECT VALUE 1 ${condition}`, parameters: [] },
      { maxItems: 1, continuation: undefined },
    );
    return page.json.length > 0;
  };
}
