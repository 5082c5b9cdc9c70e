import type { Expression } from './parseKql.ts';

/** A value of a query. Lists come from `make_set_if` and `range`, records are dynamic columns. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };
export type Row = Readonly<Record<string, Value>>;

/** Where an expression is evaluated: a row among others. */
export interface Place {
  row: Row;
  /** All rows of the table, in order, for `prev`. */
  rows: readonly Row[];
  /** Milliseconds. */
  now: number;
}

/** The value of an expression that is no aggregate. A comparison with null holds for nothing, as in Kusto. */
export function evaluate(expression: Expression, place: Place): Value {
  const found = (one: Expression) => evaluate(one, place);
  switch (expression.kind) {
    case 'value':
      return expression.value;
    case 'name':
      if (!(expression.name in place.row)) throw new Error(`there is no column ${expression.name}`);
      return place.row[expression.name] ?? null;
    case 'member': {
      const of = found(expression.of);
      return typeof of === 'object' && of !== null && !isList(of) ? (of[expression.name] ?? null) : null;
    }
    case 'in': {
      const value = found(expression.value);
      return expression.options.some((option) => found(option) === value);
    }
    case 'operator':
      return operate(expression.operator, found(expression.left), found(expression.right));
    case 'call':
      return call(expression, place);
  }
}

function operate(operator: string, left: Value, right: Value): Value {
  switch (operator) {
    case 'and':
      return left === true && right === true;
    case 'or':
      return left === true || right === true;
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    // Without regard to case, as in Kusto.
    case '!has':
      return !asText(left).toLowerCase().split(/\W+/).includes(asText(right).toLowerCase());
    case 'startswith':
      return asText(left).toLowerCase().startsWith(asText(right).toLowerCase());
  }
  if (typeof left !== 'number' || typeof right !== 'number') return null;
  switch (operator) {
    case '<':
      return left < right;
    case '>':
      return left > right;
    case '<=':
      return left <= right;
    case '>=':
      return left >= right;
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      throw new Error(`no operator ${operator}`);
  }
}

function call({ name, arguments: given }: Extract<Expression, { kind: 'call' }>, place: Place): Value {
  // The condition of `iff` decides which of the others counts; both can be evaluated.
  if (name === 'prev') {
    const [column, steps, otherwise] = given;
    if (column === undefined) throw new Error('prev needs a column');
    const distance = steps === undefined ? 1 : Number(evaluate(steps, place));
    const row = place.rows[place.rows.indexOf(place.row) - distance];
    if (row !== undefined) return evaluate(column, { ...place, row });
    return otherwise === undefined ? null : evaluate(otherwise, place);
  }
  const [first = null, second = null, third = null] = given.map((one) => evaluate(one, place));
  switch (name) {
    case 'tostring':
      return asText(first);
    case 'tolong':
      return Number.isInteger(Number(first)) ? Number(first) : null;
    case 'not':
      return first !== true;
    case 'iff':
      return first === true ? second : third;
    case 'ago':
      return place.now - Number(first);
    case 'bin':
      return Math.floor(Number(first) / Number(second)) * Number(second);
    case 'strcat':
      return given.map((one) => asText(evaluate(one, place))).join('');
    case 'range':
      return Array.from({ length: Number(second) - Number(first) + 1 }, (_, n) => Number(first) + n);
    case 'set_difference':
      return isList(first) && isList(second) ? first.filter((one) => !second.includes(one)) : null;
    case 'array_length':
      return isList(first) ? first.length : null;
    default:
      throw new Error(`no function ${name}`);
  }
}

/** The columns that an aggregate makes of a group of rows. */
export function aggregate(name: string, expression: Expression, rows: readonly Row[], now: number): Row {
  if (expression.kind !== 'call') throw new Error(`${name} is no aggregate`);
  const { name: of, arguments: given } = expression;
  const at = (one: Expression | undefined, row: Row) =>
    one === undefined ? null : evaluate(one, { row, rows, now });
  const [first, second] = given;
  const numbers = (some: readonly Row[]) =>
    some.map((row) => at(first, row)).filter((value) => typeof value === 'number');
  const chosen = (condition: Expression | undefined) => rows.filter((row) => at(condition, row) === true);
  const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
  const largest = (all: readonly number[]) => (all.length === 0 ? null : Math.max(...all));
  const smallest = (all: readonly number[]) => (all.length === 0 ? null : Math.min(...all));
  switch (of) {
    case 'count':
      return { [name]: rows.length };
    case 'countif':
      return { [name]: chosen(first).length };
    case 'sum':
      return { [name]: sum(numbers(rows)) };
    case 'sumif':
      return { [name]: sum(numbers(chosen(second))) };
    case 'max':
      return { [name]: largest(numbers(rows)) };
    case 'maxif':
      return { [name]: largest(numbers(chosen(second))) };
    case 'min':
      return { [name]: smallest(numbers(rows)) };
    case 'make_set_if':
      return { [name]: [...new Set(chosen(second).map((row) => at(first, row)))] };
    case 'arg_max': {
      if (first?.kind !== 'name' || second?.kind !== 'name') throw new Error('arg_max needs two columns');
      const latest = rows.toSorted((a, b) => Number(at(first, b)) - Number(at(first, a)))[0] ?? {};
      return { [first.name]: latest[first.name] ?? null, [second.name]: latest[second.name] ?? null };
    }
    default:
      throw new Error(`no aggregate ${of}`);
  }
}

function asText(value: Value): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
