import type { Expression, Projection, Query, Source } from './ast.ts';

/** An expression as query text. Brackets make every precedence plain. */
export function printExpression(expression: Expression): string {
  const print = printExpression;
  switch (expression.kind) {
    case 'undefined':
      return 'undefined';
    case 'literal':
      return JSON.stringify(expression.value);
    case 'parameter':
    case 'name':
      return expression.name;
    case 'property':
      return print(expression.of) + printStep(expression.key);
    case 'array':
      return `[${expression.items.map(print).join(', ')}]`;
    case 'object':
      return printObject(expression.fields);
    case 'unary':
      return `(${expression.operator.toUpperCase()} ${print(expression.of)})`;
    case 'binary':
      return `(${print(expression.left)} ${expression.operator.toUpperCase()} ${print(expression.right)})`;
    case 'between':
      return `(${print(expression.of)} BETWEEN ${print(expression.low)} AND ${print(expression.high)})`;
    case 'in':
      return `(${print(expression.of)} IN (${expression.list.map(print).join(', ')}))`;
    case 'like': {
      const escaped = expression.escape === undefined ? '' : ` ESCAPE ${print(expression.escape)}`;
      return `(${print(expression.of)} LIKE ${print(expression.pattern)}${escaped})`;
    }
    case 'conditional':
      return `(${print(expression.condition)} ? ${print(expression.whenTrue)} : ${print(expression.otherwise)})`;
    case 'call':
      return `${expression.name}(${expression.args.map(print).join(', ')})`;
    case 'exists':
      return `EXISTS(${printQuery(expression.query)})`;
    case 'arrayOf':
      return `ARRAY(${printQuery(expression.query)})`;
    case 'scalar':
      return `(${printQuery(expression.query)})`;
  }
}

function printStep(key: Expression): string {
  const plain = key.kind === 'literal' && typeof key.value === 'string' && /^[a-z_]\w*$/i.test(key.value);
  return plain ? `.${key.value}` : `[${printExpression(key)}]`;
}

/** An object constructor. */
export function printObject(fields: readonly { name: string; value: Expression }[]): string {
  const members = fields.map(({ name, value }) => `${JSON.stringify(name)}: ${printExpression(value)}`);
  return `{${members.join(', ')}}`;
}

/** Joins the parts of a query with spaces. Absent parts are empty. */
export function joinParts(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' ');
}

export function printQuery(query: Query): string {
  const { top, offset, limit } = query;
  return joinParts([
    'SELECT',
    query.distinct ? 'DISTINCT' : '',
    top === undefined ? '' : `TOP ${printExpression(top)}`,
    printProjection(query.projection),
    printFrom(query.sources),
    query.where === undefined ? '' : `WHERE ${printExpression(query.where)}`,
    printGroupBy(query),
    printOrderBy(query),
    offset === undefined || limit === undefined
      ? ''
      : `OFFSET ${printExpression(offset)} LIMIT ${printExpression(limit)}`,
  ]);
}

export function printProjection(projection: Projection): string {
  switch (projection.kind) {
    case 'star':
      return '*';
    case 'value':
      return `VALUE ${printExpression(projection.of)}`;
    case 'list':
      return projection.items
        .map(({ of, alias }) => printExpression(of) + (alias === undefined ? '' : ` AS ${alias}`))
        .join(', ');
  }
}

export function printFrom(sources: readonly Source[]): string {
  return sources.length === 0 ? '' : `FROM ${sources.map(printSource).join(' JOIN ')}`;
}

function printSource({ kind, of, alias }: Source): string {
  const value = of.kind === 'subquery' ? `(${printQuery(of.query)})` : printExpression(of);
  if (alias === undefined) return value;
  return kind === 'elements' ? `${alias} IN ${value}` : `${value} AS ${alias}`;
}

export function printGroupBy({ groupBy }: Query): string {
  return groupBy.length === 0 ? '' : `GROUP BY ${groupBy.map(printExpression).join(', ')}`;
}

export function printOrderBy({ orderBy }: Query): string {
  const keys = orderBy.map(({ of, descending }) => `${printExpression(of)} ${descending ? 'DESC' : 'ASC'}`);
  return keys.length === 0 ? '' : `ORDER BY ${keys.join(', ')}`;
}
