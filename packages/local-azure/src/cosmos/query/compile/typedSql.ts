/**
 * A Cosmos value as SQL. If its type is known at compile time, it is one SQL expression, NULL when the value
 * is undefined. Otherwise (`any`) it is two expressions: its rank (the type as a number, in Cosmos's sort
 * order of types, 0 = undefined) and its value (boolean as 0 or 1, array and object as JSON text, null and
 * undefined as NULL).
 *
 * SQL's NULL behaves like Cosmos's undefined: it propagates through operators and functions, `false AND
 * undefined` is false, `true OR undefined` is true, and WHERE drops it.
 */
export type TypedSql =
  | { kind: 'undefined' }
  | { kind: 'null' }
  | { kind: KnownKind; sql: string; location?: Location }
  | { kind: 'any'; rank: string; value: string; json?: string; location?: Location };

export type KnownKind = 'boolean' | 'number' | 'string' | 'array' | 'object';

/** A place in a JSON text. `stored`: the text is the item itself, so an index can cover the place. */
export type Location = { json: string; path: string; stored: boolean };

export const RANK = { undefined: 0, null: 1, boolean: 2, number: 3, string: 4, array: 5, object: 6 } as const;

export const UNDEFINED: TypedSql = { kind: 'undefined' };

/** SQL text literal. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The rank of a type named by json_type or by json_each's `type` column; 0 for NULL, a missing value. */
export function rankOfJsonType(type: string): string {
  return (
    `CASE ${type} WHEN 'text' THEN 4 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'true' THEN 2 ` +
    `WHEN 'false' THEN 2 WHEN 'null' THEN 1 WHEN 'array' THEN 5 WHEN 'object' THEN 6 ELSE 0 END`
  );
}

/** The value at a path (`$."a"[0]`) of a JSON text. Index expressions use the same two texts. */
export function atPath(json: string, path: string, stored = false): TypedSql & { kind: 'any' } {
  const place = `${json}, ${quote(path)}`;
  return {
    kind: 'any',
    rank: rankOfJsonType(`json_type(${place})`),
    value: `json_extract(${place})`,
    json: `(${json} -> ${quote(path)})`,
    location: { json, path, stored },
  };
}

/** The value of an SQL expression that yields JSON text; NULL means undefined. */
export function ofJson(json: string): TypedSql {
  return { ...atPath(json, '$'), json };
}

export function rankSql(value: TypedSql): string {
  if (value.kind === 'any') return value.rank;
  if (!('sql' in value)) return String(RANK[value.kind]);
  return `CASE WHEN ${value.sql} IS NULL THEN 0 ELSE ${RANK[value.kind]} END`;
}

export function valueSql(value: TypedSql): string {
  if (value.kind === 'undefined' || value.kind === 'null') return 'NULL';
  return value.kind === 'any' ? value.value : value.sql;
}

/** The value if it has this type, else NULL. */
export function as(kind: KnownKind, value: TypedSql): string {
  if (value.kind === kind) return value.sql;
  if (value.kind !== 'any') return 'NULL';
  return `CASE WHEN ${value.rank} = ${RANK[kind]} THEN ${value.value} END`;
}

export function isDefined(value: TypedSql): string {
  if (value.kind === 'undefined' || value.kind === 'null') return value.kind === 'null' ? '1' : '0';
  return value.kind === 'any' ? `(${value.rank} <> 0)` : `(${value.sql} IS NOT NULL)`;
}

/** The value as JSON text; NULL if it is undefined. */
export function toJson(value: TypedSql): string {
  switch (value.kind) {
    case 'undefined':
      return 'NULL';
    case 'null':
      return `'null'`;
    case 'boolean':
      return `CASE ${value.sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`;
    case 'number':
    case 'string':
      return `nullif(json_quote(${value.sql}), 'null')`;
    case 'array':
    case 'object':
      return value.sql;
    case 'any':
      return (
        value.json ??
        `CASE ${value.rank} WHEN 1 THEN 'null' WHEN 2 THEN iif(${value.value}, 'true', 'false') ` +
          `WHEN 3 THEN json_quote(${value.value}) WHEN 4 THEN json_quote(${value.value}) ` +
          `WHEN 5 THEN ${value.value} WHEN 6 THEN ${value.value} END`
      );
  }
}

/** Rank and value in a form that is equal exactly for equal values: object keys are sorted. */
export function identity(value: TypedSql): [rank: string, value: string] {
  if (value.kind === 'array' || value.kind === 'object') {
    return [rankSql(value), `cosmos_canonical(${value.sql})`];
  }
  if (value.kind !== 'any') return [rankSql(value), valueSql(value)];
  const deep = `cosmos_canonical(${value.value})`;
  return [value.rank, `CASE WHEN ${value.rank} >= ${RANK.array} THEN ${deep} ELSE ${value.value} END`];
}

/** One step into a value: a property name or an array index. */
export function step(value: TypedSql, key: string | number): TypedSql {
  if (typeof key === 'number' && (!Number.isInteger(key) || key < 0)) return UNDEFINED;
  const place = placeOf(value);
  if (place === undefined) return UNDEFINED;
  const path = `${place.path}${typeof key === 'number' ? `[${key}]` : `.${JSON.stringify(key)}`}`;
  return atPath(place.json, path, place.stored);
}

function placeOf(value: TypedSql): Location | undefined {
  if (value.kind !== 'any' && value.kind !== 'array' && value.kind !== 'object') return undefined;
  if (value.location !== undefined) return value.location;
  const json =
    value.kind === 'any' ? `CASE WHEN ${value.rank} >= ${RANK.array} THEN ${value.value} END` : value.sql;
  return { json, path: '$', stored: false };
}

/** `{"a":…,"b":…}` without undefined properties. */
export function objectOf(fields: { name: string; value: TypedSql }[]): TypedSql {
  const parts = fields.map(({ name, value }) => [`,${JSON.stringify(name)}:`, value] as const);
  return { kind: 'object', sql: joined('{', parts, '}') };
}

/** `[…]` without undefined items. */
export function arrayOf(items: TypedSql[]): TypedSql {
  return {
    kind: 'array',
    sql: joined(
      '[',
      items.map((item) => [',', item] as const),
      ']',
    ),
  };
}

function joined(open: string, parts: (readonly [prefix: string, value: TypedSql])[], close: string): string {
  if (parts.length === 0) return quote(open + close);
  const texts = parts.map(([prefix, value]) => `coalesce(${quote(prefix)} || ${toJson(value)}, '')`);
  return `(${quote(open)} || substr(${texts.join(' || ')}, 2) || ${quote(close)})`;
}
