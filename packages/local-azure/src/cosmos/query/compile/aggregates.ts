import type { Expression } from '../ast.ts';
import { as, isDefined, RANK, rankSql, type TypedSql, valueSql } from './typedSql.ts';

const AGGREGATES = new Set(['COUNT', 'COUNTIF', 'SUM', 'AVG', 'MIN', 'MAX']);

export function isAggregate(name: string): boolean {
  return AGGREGATES.has(name.toUpperCase());
}

/** True if an expression or projection calls an aggregate outside its subqueries. */
export function holdsAggregate(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  if (Array.isArray(part)) return part.some(holdsAggregate);
  const node = part as Expression;
  if (node.kind === 'exists' || node.kind === 'arrayOf' || node.kind === 'scalar') return false;
  if (node.kind === 'call' && isAggregate(node.name)) return true;
  return Object.values(part).some(holdsAggregate);
}

/**
 * An aggregate over one value per row of the group. Undefined values do not count. SUM and AVG are undefined
 * over anything but numbers, MIN and MAX over arrays and objects
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/query/sum and its sibling pages).
 */
export function aggregate(name: string, of: TypedSql): TypedSql {
  switch (name.toUpperCase()) {
    case 'COUNT':
      return { kind: 'number', sql: `count(CASE WHEN ${isDefined(of)} THEN 1 END)` };
    case 'COUNTIF':
      return { kind: 'number', sql: `count(CASE WHEN ${as('boolean', of)} THEN 1 END)` };
    case 'SUM':
      return { kind: 'number', sql: onlyNumbers(of, `total(${as('number', of)})`) };
    case 'AVG':
      return { kind: 'number', sql: onlyNumbers(of, `avg(${as('number', of)})`) };
    default:
      return extreme(name.toUpperCase() === 'MAX' ? 'max' : 'min', of);
  }
}

function onlyNumbers(of: TypedSql, sql: string): string {
  if (of.kind === 'number') return sql;
  return `CASE WHEN count(CASE WHEN ${rankSql(of)} NOT IN (0, 3) THEN 1 END) = 0 THEN ${sql} END`;
}

/** MIN or MAX across types: the type that sorts first (or last) wins, then the value within it. */
function extreme(fn: 'min' | 'max', of: TypedSql): TypedSql {
  if (of.kind === 'number' || of.kind === 'string' || of.kind === 'boolean') {
    return { kind: of.kind, sql: `${fn}(${of.sql})` };
  }
  const rank = rankSql(of);
  const present = `count(CASE WHEN ${rank} >= ${RANK.array} THEN 1 END) = 0`;
  const best = `CASE WHEN ${present} THEN coalesce(${fn}(nullif(${rank}, 0)), 0) ELSE 0 END`;
  const bestOf = (wanted: number) =>
    `WHEN ${wanted} THEN ${fn}(CASE WHEN ${rank} = ${wanted} THEN ${valueSql(of)} END)`;
  const value = `CASE ${best} ${[RANK.boolean, RANK.number, RANK.string].map(bestOf).join(' ')} END`;
  return { kind: 'any', rank: best, value };
}
