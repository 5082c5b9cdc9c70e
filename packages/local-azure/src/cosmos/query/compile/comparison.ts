import type { BinaryOperator, ComparisonOperator } from '../ast.ts';
import { identity, RANK, type TypedSql } from './typedSql.ts';

/**
 * A comparison as SQL: 1, 0, or NULL for undefined. Comparing values of different types is undefined, and so
 * is comparing arrays or objects with any operator but `=`
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/query/equality-comparison-operators).
 */
export function compare(operator: ComparisonOperator, left: TypedSql, right: TypedSql): string {
  if (left.kind === 'undefined' || right.kind === 'undefined') return 'NULL';
  if (left.kind === 'any') {
    return right.kind === 'any' ? compareAny(operator, left, right) : compareToKnown(operator, left, right);
  }
  if (right.kind === 'any') return compareToKnown(mirrored(operator), right, left);
  if (left.kind !== right.kind) return 'NULL';
  if (left.kind === 'null' || right.kind === 'null') return nullCompared(operator);
  if (left.kind === 'array' || left.kind === 'object') {
    return operator === '=' ? `(${identity(left)[1]} = ${identity(right)[1]})` : 'NULL';
  }
  return `(${left.sql} ${operator} ${right.sql})`;
}

type Any = TypedSql & { kind: 'any' };
type Known = Exclude<TypedSql, { kind: 'any' } | { kind: 'undefined' }>;

function compareToKnown(operator: ComparisonOperator, any: Any, known: Known): string {
  const ofType = (sql: string) => `CASE WHEN ${any.rank} = ${RANK[known.kind]} THEN ${sql} END`;
  if (known.kind === 'null') return ofType(nullCompared(operator));
  if (known.kind === 'array' || known.kind === 'object') {
    return operator === '=' ? ofType(`cosmos_canonical(${any.value}) = ${identity(known)[1]}`) : 'NULL';
  }
  return ofType(`${any.value} ${operator} ${known.sql}`);
}

function compareAny(operator: ComparisonOperator, left: Any, right: Any): string {
  const scalars = `WHEN ${left.rank} IN (2, 3, 4) THEN ${left.value} ${operator} ${right.value}`;
  const nulls = `WHEN ${left.rank} = 1 THEN ${nullCompared(operator)}`;
  const deep =
    operator === '='
      ? `WHEN ${left.rank} >= 5 THEN cosmos_canonical(${left.value}) = cosmos_canonical(${right.value})`
      : '';
  return `CASE WHEN ${left.rank} = ${right.rank} THEN CASE ${scalars} ${nulls} ${deep} END END`;
}

function nullCompared(operator: ComparisonOperator): string {
  return operator === '=' || operator === '<=' || operator === '>=' ? '1' : '0';
}

const MIRRORED: Record<ComparisonOperator, ComparisonOperator> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

export function isComparison(operator: BinaryOperator): operator is ComparisonOperator {
  return Object.hasOwn(MIRRORED, operator);
}

/** The equivalent operator after swapping the two sides. */
export function mirrored(operator: ComparisonOperator): ComparisonOperator {
  return MIRRORED[operator];
}
