import type { CompiledSelect } from './select.ts';

/**
 * The SQL of a SELECT: one column `j` and, behind it, `extra`. In the order asked for; else in the order of the
 * items and, within an item, of its array elements; groups in the order of their keys.
 */
export function renderRows(select: CompiledSelect, extra: string[], limit: string, resume = ''): string {
  const { tables, conditions, json, groups, aggregated } = select;
  const where = resume === '' ? conditions : [...conditions, resume];
  const parts = [`SELECT ${[`${json} AS j`, ...extra].join(', ')}`];
  if (tables.length > 0) parts.push(`FROM ${tables.join(' CROSS JOIN ')}`);
  if (where.length > 0) parts.push(`WHERE ${where.join(' AND ')}`);
  if (groups.length > 0) parts.push(`GROUP BY ${groups.map(notAColumnNumber).join(', ')}`);
  // An aggregate can be undefined where no row was: `SELECT VALUE AVG(…)` then has no result.
  if (aggregated) parts.push(`HAVING ${json} IS NOT NULL`);
  const last = groups.length > 0 ? groups.map(notAColumnNumber) : ties(select);
  const order = aggregated && groups.length === 0 ? [] : [...orderTerms(select), ...last];
  if (order.length > 0) parts.push(`ORDER BY ${order.join(', ')}`);
  parts.push(limit);
  return parts.join(' ');
}

/** The terms of ORDER BY as far as the query gives them. */
function orderTerms(select: CompiledSelect): string[] {
  return select.orderBy.flatMap(({ rank, value, descending, pinned }) => {
    const direction = descending ? 'DESC' : 'ASC';
    return pinned ? [`${value} ${direction}`] : [`${rank} ${direction}`, `${value} ${direction}`];
  });
}

/** Ties go by item in the direction of the first key, as the service does, then by array element. */
function ties(select: CompiledSelect): string[] {
  const direction = select.orderBy[0]?.descending === true ? 'DESC' : 'ASC';
  return select.ordinals.map((ordinal) => `${ordinal} ${direction}`);
}

/** A bare number in GROUP BY or ORDER BY would mean a column of the result. */
function notAColumnNumber(sql: string): string {
  return /^\d+$/.test(sql) ? `(0 + ${sql})` : sql;
}
