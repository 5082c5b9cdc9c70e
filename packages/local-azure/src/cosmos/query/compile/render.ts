import type { CompiledSelect } from './select.ts';

/**
 * The SQL of a SELECT: one column `j`, followed by `extra`. Rows come in the requested order, else in item
 * order and, within an item, in the order of its array elements. Groups come in the order of their keys.
 */
export function renderRows(select: CompiledSelect, extra: string[], limit: string, resume = ''): string {
  const { tables, conditions, json, groups, aggregated } = select;
  const where = resume === '' ? conditions : [...conditions, resume];
  const parts = [`SELECT ${[`${json} AS j`, ...extra].join(', ')}`];
  if (tables.length > 0) parts.push(`FROM ${tables.join(' CROSS JOIN ')}`);
  if (where.length > 0) parts.push(`WHERE ${where.join(' AND ')}`);
  if (groups.length > 0) parts.push(`GROUP BY ${groups.map(notAColumnNumber).join(', ')}`);
  // An aggregate over no rows can be undefined: `SELECT VALUE AVG(…)` then has no result.
  if (aggregated) parts.push(`HAVING ${json} IS NOT NULL`);
  const last = groups.length > 0 ? groups.map(notAColumnNumber) : ties(select);
  const order = aggregated && groups.length === 0 ? [] : [...orderTerms(select), ...last];
  if (order.length > 0) parts.push(`ORDER BY ${order.join(', ')}`);
  parts.push(limit);
  return parts.join(' ');
}

/** The ORDER BY terms that the query asks for. */
function orderTerms(select: CompiledSelect): string[] {
  return select.orderBy.flatMap(({ rank, value, descending, pinned }) => {
    const direction = descending ? 'DESC' : 'ASC';
    return pinned ? [`${value} ${direction}`] : [`${rank} ${direction}`, `${value} ${direction}`];
  });
}

/** Ties sort by item in the direction of the first key, as on the service, then by array element. */
function ties(select: CompiledSelect): string[] {
  const direction = select.orderBy[0]?.descending === true ? 'DESC' : 'ASC';
  return select.ordinals.map((ordinal) => `${ordinal} ${direction}`);
}

/** SQLite reads a bare number in GROUP BY or ORDER BY as a result column. */
function notAColumnNumber(sql: string): string {
  return /^\d+$/.test(sql) ? `(0 + ${sql})` : sql;
}
