import type { Expression } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import { Compilation, type SubqueryRows } from './compilation.ts';
import { renderRows } from './render.ts';
import { compileSelect } from './select.ts';

/** A compilation whose subqueries compile in the same way as the query around them. */
export function newCompilation(parameters: ReadonlyMap<string, unknown>): Compilation {
  return new Compilation(parameters, subqueryRows);
}

const subqueryRows: SubqueryRows = (query, outer, items, to) => {
  const select = compileSelect(query, outer, items, to);
  const most = countOf(query.top, to) ?? countOf(query.limit, to) ?? -1;
  // A LIMIT clause, even LIMIT -1, keeps SQLite from dropping the row order.
  return renderRows(select, [], `LIMIT ${most} OFFSET ${countOf(query.offset, to) ?? 0}`);
};

/** The number after TOP, OFFSET or LIMIT. @throws {BadQuery} if it is not a non-negative integer */
export function countOf(expression: Expression | undefined, to: Compilation): number | undefined {
  if (expression === undefined) return undefined;
  const count = to.fixedValue(expression);
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0) return count;
  const at = 'at' in expression ? expression.at : undefined;
  throw new BadQuery('TOP, OFFSET and LIMIT must be non-negative integers.', at, 'SC2062');
}
