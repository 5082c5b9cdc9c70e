/**
 * The language's comparison and ordering in plain JavaScript, written from its documentation and sharing no
 * code with the engine. A filter is a tree that can be evaluated here or written as query text.
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Value = Json | undefined;
export type Doc = { [key: string]: Json };

export type Filter =
  | { kind: 'constant'; value: Json; asParameter: boolean }
  | { kind: 'path'; path: (string | number)[] }
  | { kind: 'compare'; operator: '=' | '!=' | '<' | '<=' | '>' | '>='; left: Filter; right: Filter }
  | { kind: 'and' | 'or'; left: Filter; right: Filter }
  | { kind: 'not'; of: Filter }
  | { kind: 'in'; of: Filter; list: Filter[] }
  | { kind: 'between'; of: Filter; low: Filter; high: Filter }
  | {
      kind: 'check';
      name: 'IS_DEFINED' | 'IS_NULL' | 'IS_NUMBER' | 'IS_STRING' | 'IS_BOOL' | 'IS_ARRAY';
      of: Filter;
    }
  | { kind: 'coalesce'; left: Filter; right: Filter }
  | { kind: 'choice'; condition: Filter; whenTrue: Filter; otherwise: Filter }
  | { kind: 'plus'; left: Filter; right: Filter }
  | { kind: 'startsWith'; of: Filter; prefix: Filter };

const TYPES = ['undefined', 'null', 'boolean', 'number', 'string', 'array', 'object'] as const;

function typeOf(value: Value): (typeof TYPES)[number] {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return TYPES.find((name) => name === type) ?? 'object';
}

export function evaluate(filter: Filter, doc: Doc): Value {
  const of = (part: Filter) => evaluate(part, doc);
  switch (filter.kind) {
    case 'constant':
      return filter.value;
    case 'path':
      return filter.path.reduce<Value>(stepInto, doc);
    case 'compare':
      return compare(filter.operator, of(filter.left), of(filter.right));
    case 'and':
      return and(of(filter.left), of(filter.right));
    case 'or':
      return or(of(filter.left), of(filter.right));
    case 'not':
      return not(of(filter.of));
    case 'in':
      return filter.list.map((item) => compare('=', of(filter.of), of(item))).reduce<Value>(or, false);
    case 'between':
      return and(compare('>=', of(filter.of), of(filter.low)), compare('<=', of(filter.of), of(filter.high)));
    case 'check':
      return check(filter.name, of(filter.of));
    case 'coalesce':
      return of(filter.left) ?? (of(filter.left) === null ? null : of(filter.right));
    case 'choice':
      return of(filter.condition) === true ? of(filter.whenTrue) : of(filter.otherwise);
    case 'plus': {
      const [left, right] = [of(filter.left), of(filter.right)];
      return typeof left === 'number' && typeof right === 'number' ? left + right : undefined;
    }
    case 'startsWith': {
      const [text, prefix] = [of(filter.of), of(filter.prefix)];
      return typeof text === 'string' && typeof prefix === 'string' ? text.startsWith(prefix) : undefined;
    }
  }
}

function stepInto(value: Value, key: string | number): Value {
  if (typeof key === 'number') return Array.isArray(value) ? value[key] : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function and(left: Value, right: Value): Value {
  if (left === false || right === false) return false;
  return left === true && right === true ? true : undefined;
}

function or(left: Value, right: Value): Value {
  if (left === true || right === true) return true;
  return left === false && right === false ? false : undefined;
}

function not(value: Value): Value {
  return typeof value === 'boolean' ? !value : undefined;
}

function check(name: (Filter & { kind: 'check' })['name'], value: Value): boolean {
  const type = typeOf(value);
  if (name === 'IS_DEFINED') return type !== 'undefined';
  return (
    { IS_NULL: 'null', IS_NUMBER: 'number', IS_STRING: 'string', IS_BOOL: 'boolean', IS_ARRAY: 'array' }[
      name
    ] === type
  );
}

function compare(operator: (Filter & { kind: 'compare' })['operator'], left: Value, right: Value): Value {
  const type = typeOf(left);
  if (type === 'undefined' || type !== typeOf(right)) return undefined;
  if (type === 'array' || type === 'object') return operator === '=' ? same(left, right) : undefined;
  const order = inOrder(left, right);
  return {
    '=': order === 0,
    '!=': order !== 0,
    '<': order < 0,
    '<=': order <= 0,
    '>': order > 0,
    '>=': order >= 0,
  }[operator];
}

function same(left: Value, right: Value): boolean {
  if (typeOf(left) !== typeOf(right)) return false;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => same(item, right[index]));
  }
  if (typeof left === 'object' && left !== null && typeof right === 'object' && right !== null) {
    const [mine, other] = [left as Doc, right as Doc];
    const keys = Object.keys(mine);
    return keys.length === Object.keys(other).length && keys.every((key) => same(mine[key], other[key]));
  }
  return left === right;
}

/** Sorts by type, then by value; arrays and objects by their text, which the service does not promise. */
export function inOrder(left: Value, right: Value): number {
  const types = TYPES.indexOf(typeOf(left)) - TYPES.indexOf(typeOf(right));
  if (types !== 0) return types;
  const [a, b] = typeof left === 'object' ? [JSON.stringify(left), JSON.stringify(right)] : [left, right];
  if (a === b || a === undefined || b === undefined || a === null || b === null) return 0;
  return a < b ? -1 : 1;
}

/** The filter as query text. Constants to be passed as parameters are added to `parameters`. */
export function toQuery(filter: Filter, parameters: Record<string, Json>): string {
  const of = (part: Filter) => toQuery(part, parameters);
  switch (filter.kind) {
    case 'constant': {
      if (!filter.asParameter) return JSON.stringify(filter.value);
      const name = `v${Object.keys(parameters).length}`;
      parameters[name] = filter.value;
      return `@${name}`;
    }
    case 'path':
      return `c${filter.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')}`;
    case 'compare':
      return `(${of(filter.left)} ${filter.operator} ${of(filter.right)})`;
    case 'and':
    case 'or':
      return `(${of(filter.left)} ${filter.kind} ${of(filter.right)})`;
    case 'not':
      return `(NOT ${of(filter.of)})`;
    case 'in':
      return `(${of(filter.of)} IN (${filter.list.map(of).join(', ')}))`;
    case 'between':
      return `(${of(filter.of)} BETWEEN ${of(filter.low)} AND ${of(filter.high)})`;
    case 'check':
      return `${filter.name}(${of(filter.of)})`;
    case 'coalesce':
      return `(${of(filter.left)} ?? ${of(filter.right)})`;
    case 'choice':
      return `(${of(filter.condition)} ? ${of(filter.whenTrue)} : ${of(filter.otherwise)})`;
    case 'plus':
      return `(${of(filter.left)} + ${of(filter.right)})`;
    case 'startsWith':
      return `STARTSWITH(${of(filter.of)}, ${of(filter.prefix)})`;
  }
}
