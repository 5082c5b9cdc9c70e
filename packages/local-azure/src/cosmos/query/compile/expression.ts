import type { ArithmeticOperator, BinaryOperator, Expression } from '../ast.ts';
import { BadQuery, UnsupportedQuery } from '../errors.ts';
import { callFunction } from '../functions/index.ts';
import { aggregate, isAggregate } from './aggregates.ts';
import { compare, isComparison } from './comparison.ts';
import type { Compilation } from './compilation.ts';
import { lookUp, type Scope, sameExpression } from './scope.ts';
import { arrayFrom, existsIn, scalarFrom } from './subquery.ts';
import {
  arrayOf,
  as,
  isDefined,
  objectOf,
  RANK,
  rankSql,
  step,
  type TypedSql,
  UNDEFINED,
  valueSql,
} from './typedSql.ts';

/** Compiles an expression of the query to SQL, resolving names in the scope. */
export function compileExpression(expression: Expression, scope: Scope, to: Compilation): TypedSql {
  if (scope.sees === 'groups' && scope.keys.some((key) => sameExpression(key, expression))) {
    return withoutItem(compileExpression(expression, scope.rows, to));
  }
  const compiled = (inner: Expression) => compileExpression(inner, scope, to);
  switch (expression.kind) {
    case 'undefined':
      return UNDEFINED;
    case 'literal':
      return literal(expression.value, to);
    case 'parameter':
      return to.parameter(expression);
    case 'name':
      return named(expression, scope);
    case 'property':
      return property(expression, scope, to);
    case 'array':
      return arrayOf(expression.items.map(compiled));
    case 'object':
      return objectOf(expression.fields.map(({ name, value }) => ({ name, value: compiled(value) })));
    case 'unary':
      return unary(expression.operator, compiled(expression.of));
    case 'binary':
      return binary(expression.operator, compiled(expression.left), compiled(expression.right));
    case 'between': {
      const of = compiled(expression.of);
      const low = compare('>=', of, compiled(expression.low));
      return boolean(`(${low} AND ${compare('<=', of, compiled(expression.high))})`);
    }
    case 'in': {
      const of = compiled(expression.of);
      return boolean(`(${expression.list.map((item) => compare('=', of, compiled(item))).join(' OR ')})`);
    }
    case 'like': {
      const escapedBy = expression.escape === undefined ? `''` : as('string', compiled(expression.escape));
      const [text, pattern] = [compiled(expression.of), compiled(expression.pattern)];
      return boolean(`cosmos_like(${as('string', text)}, ${as('string', pattern)}, ${escapedBy})`);
    }
    case 'conditional':
      return conditional(
        `CASE WHEN ${as('boolean', compiled(expression.condition))} THEN`,
        compiled(expression.whenTrue),
        compiled(expression.otherwise),
      );
    case 'call':
      return call(expression, scope, to);
    case 'exists':
      return boolean(existsIn(expression.query, scope, to));
    case 'arrayOf':
      return { kind: 'array', sql: arrayFrom(expression.query, scope, to) };
    case 'scalar':
      return scalarFrom(expression.query, scope, to);
  }
}

function boolean(sql: string): TypedSql {
  return { kind: 'boolean', sql };
}

/** Reads a value from the group's key alone, so that an index on the keys can answer the whole query. */
function withoutItem(value: TypedSql): TypedSql {
  return value.kind === 'any' ? { kind: 'any', rank: value.rank, value: value.value } : value;
}

function literal(value: null | boolean | number | string, to: Compilation): TypedSql {
  if (value === null) return { kind: 'null' };
  if (typeof value === 'boolean') return boolean(value ? '1' : '0');
  if (typeof value === 'number') return { kind: 'number', sql: numberLiteral(value) };
  return { kind: 'string', sql: to.constant(value) };
}

function numberLiteral(value: number): string {
  if (Number.isSafeInteger(value)) return value < 0 ? `(${value})` : String(value);
  return `(${value.toExponential()})`;
}

function named(expression: Expression & { kind: 'name' }, scope: Scope): TypedSql {
  const value = lookUp(scope, expression.name);
  if (value === undefined) {
    throw new BadQuery(`Identifier '${expression.name}' could not be resolved.`, expression.at, 'SC2001');
  }
  if (scope.sees === 'groups') throw notGrouped(expression);
  return value;
}

function property(expression: Expression & { kind: 'property' }, scope: Scope, to: Compilation): TypedSql {
  if (scope.sees === 'groups' && pathText(expression) !== undefined) {
    compileExpression(expression, scope.rows, to);
    throw notGrouped(expression);
  }
  const { key } = expression;
  const of = compileExpression(expression.of, scope, to);
  if (key.kind !== 'literal' && key.kind !== 'parameter') {
    throw new UnsupportedQuery('a computed property name (item[expression])');
  }
  const fixed = to.fixedValue(key);
  if (typeof fixed !== 'string' && typeof fixed !== 'number') return UNDEFINED;
  // The id has its own column, which the unique index covers.
  if (fixed === 'id' && of.kind === 'object' && of.location?.stored === true && of.location.path === '$') {
    return { kind: 'string', sql: 'r.id', location: { json: 'r.doc', path: '$."id"', stored: true } };
  }
  return step(of, fixed);
}

function notGrouped(expression: Expression & { kind: 'name' | 'property' }): BadQuery {
  const reason =
    `Property reference '${pathText(expression)}' is invalid in the select list because it is not contained ` +
    'in either an aggregate function or the GROUP BY clause.';
  return new BadQuery(reason, expression.at, 'SC2102');
}

/** A property path as written; undefined for a path that does not start at a name. */
function pathText(expression: Expression): string | undefined {
  if (expression.kind === 'name') return expression.name;
  if (expression.kind !== 'property' || expression.key.kind !== 'literal') return undefined;
  const of = pathText(expression.of);
  return of === undefined ? undefined : `${of}.${expression.key.value}`;
}

function unary(operator: 'not' | '-' | '+' | '~', of: TypedSql): TypedSql {
  switch (operator) {
    case 'not':
      return boolean(`(NOT ${as('boolean', of)})`);
    case '-':
      return { kind: 'number', sql: `(-${as('number', of)})` };
    case '+':
      return { kind: 'number', sql: as('number', of) };
    case '~':
      return { kind: 'number', sql: `(~CAST(${as('number', of)} AS INTEGER))` };
  }
}

function binary(operator: BinaryOperator, left: TypedSql, right: TypedSql): TypedSql {
  if (operator === 'and' || operator === 'or') {
    return boolean(`(${as('boolean', left)} ${operator === 'and' ? 'AND' : 'OR'} ${as('boolean', right)})`);
  }
  if (operator === '||') return { kind: 'string', sql: `(${as('string', left)} || ${as('string', right)})` };
  if (operator === '??') {
    if (left.kind === 'undefined') return right;
    return conditional(`CASE WHEN ${isDefined(left)} THEN`, left, right);
  }
  if (isComparison(operator)) return boolean(compare(operator, left, right));
  return { kind: 'number', sql: arithmetic(operator, as('number', left), as('number', right)) };
}

/** Numbers are doubles in Cosmos, so division never truncates. Division by zero is undefined. */
function arithmetic(operator: ArithmeticOperator, left: string, right: string): string {
  const whole = (sql: string) => `CAST(${sql} AS INTEGER)`;
  switch (operator) {
    case '+':
    case '-':
    case '*':
      return `(${left} ${operator} ${right})`;
    case '/':
      return `(1.0 * ${left} / ${right})`;
    case '%':
      return `mod(${left}, ${right})`;
    case '&':
    case '|':
    case '<<':
    case '>>':
      return `(${whole(left)} ${operator} ${whole(right)})`;
    case '^':
      return `((${whole(left)} | ${whole(right)}) - (${whole(left)} & ${whole(right)}))`;
    case '>>>':
      return `cosmos_unsigned_shift(${left}, ${right})`;
  }
}

/** One of two values. `when` is the SQL `CASE WHEN … THEN` that the first value completes. */
function conditional(when: string, first: TypedSql, second: TypedSql): TypedSql {
  const sql = `${when} ${valueSql(first)} ELSE ${valueSql(second)} END`;
  if (first.kind === second.kind && first.kind in RANK && 'sql' in first) return { kind: first.kind, sql };
  return { kind: 'any', rank: `${when} ${rankSql(first)} ELSE ${rankSql(second)} END`, value: sql };
}

function call(expression: Expression & { kind: 'call' }, scope: Scope, to: Compilation): TypedSql {
  if (!isAggregate(expression.name)) {
    return callFunction(expression, (arg) => compileExpression(arg, scope, to));
  }
  if (scope.sees !== 'groups') {
    throw new BadQuery(
      `An aggregate function (${expression.name.toUpperCase()}) is only allowed in the SELECT clause.`,
      expression.at,
      'SC2104',
    );
  }
  const [arg, ...more] = expression.args;
  if (arg === undefined || more.length > 0) {
    const name = expression.name.toUpperCase();
    throw new BadQuery(`The ${name} function requires 1 argument(s).`, expression.at, 'SC2050');
  }
  return aggregate(expression.name, compileExpression(arg, scope.rows, to));
}
