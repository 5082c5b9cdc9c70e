import type { Expression } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import { Compilation, type SubqueryRows } from './compilation.ts';
import { renderRows } from './render.ts';
import { compileSelect } from './select.ts';

/** A compilation that compiles subqueries in the same way as the query around them. */
export function newCompilation(parameters: ReadonlyMap<string, unknown>): Compilation {
  return new Compilation(parameters, subqueryRows);
}

const subqueryRows: SubqueryRows = (query, outer, items, to) => {
  const select = compileSelect(query, outer, items, to);
  const most = countOf(query.top, to) ?? countOf(query.limit, to) ?? -1;
  // A limit, even none, keeps SQLite from dropping the order of the rows.
  return renderRows(select, [], `LIMIT ${most} OFFSET ${countOf(query.offset, to) ?? 0}`);
};

/** The number behind TOP, OFFSET or LIMIT. */
export function countOf(expression: Expression | undefined, to: Compilation): number | undefined {
  if (expression === undefined) return undefined;
  const count = to.fixedValue(expression);
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0) return count;
  const at = 'at' in expression ? expression.at : undefined;
  throw new BadQuery('TOP, OFFSET and LIMIT take a whole number that is not negative.', at, 'SC2062');
}
