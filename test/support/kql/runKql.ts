import { aggregate, evaluate, type Place, type Row } from './evaluateKql.ts';
import { type Column, parseKql, type Step } from './parseKql.ts';

/** The rows that a query yields at `now` (milliseconds), given the rows of each table. @throws on what it does not know */
export function runKql(text: string, tables: Readonly<Record<string, readonly Row[]>>, now: number): Row[] {
  const { table, steps } = parseKql(text);
  const rows = tables[table];
  if (rows === undefined) throw new Error(`there is no table ${table}`);
  return steps.reduce<readonly Row[]>((left, step) => apply(step, left, now), rows).slice();
}

function apply(step: Step, rows: readonly Row[], now: number): readonly Row[] {
  switch (step.kind) {
    case 'where':
      return rows.filter((row) => evaluate(step.condition, { row, rows, now }) === true);
    case 'extend':
      return rows.map((row) => ({ ...row, ...valuesOf(step.columns, { row, rows, now }) }));
    case 'order':
      return rows.toSorted((a, b) => Number(a[step.by]) - Number(b[step.by]));
    case 'summarize': {
      const keyed = rows.map((row) => ({ row, key: valuesOf(step.by, { row, rows, now }) }));
      const groups = Map.groupBy(keyed, ({ key }) => JSON.stringify(key));
      // Without `by` there is one row, even over no rows; with it there are none.
      if (step.by.length === 0 && groups.size === 0) groups.set('{}', []);
      return [...groups.values()].map((group) => {
        const some = group.map(({ row }) => row);
        const columns = step.columns.map(({ name, expression }) => aggregate(name, expression, some, now));
        return Object.assign({}, group[0]?.key, ...columns) as Row;
      });
    }
  }
}

function valuesOf(columns: readonly Column[], place: Place): Row {
  return Object.fromEntries(columns.map(({ name, expression }) => [name, evaluate(expression, place)]));
}
