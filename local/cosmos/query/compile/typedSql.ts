/**
 * A Cosmos value as SQL. Where its type is known when the query is compiled, it is one SQL expression that is
 * NULL where the value is undefined. Where it is not (`any`), it is two: its rank (the type as a number, in the
 * order in which Cosmos sorts types, 0 = undefined) and its value (boolean as 0 or 1, array and object as JSON
 * text, null and undefined as NULL).
 *
 * SQL's NULL behaves as Cosmos's undefined does: it passes through operators and functions, `false AND
 * undefined` is false, `true OR undefined` is true, and WHERE drops it.
 */
export type TypedSql =
  | { kind: 'undefined' }
  | { kind: 'null' }
  | { kind: KnownKind; sql: string; location?: Location }
  | { kind: 'any'; rank: string; value: string; json?: string; location?: Location };

export type KnownKind = 'boolean' | 'number' | 'string' | 'array' | 'object';

/** A place in a JSON text. `stored`: in the item itself, so an index can hold it. */
export type Location = { json: string; path: string; stored: boolean };

export const RANK = { undefined: 0, null: 1, boolean: 2, number: 3, string: 4, array: 5, object: 6 } as const;

export const UNDEFINED: TypedSql = { kind: 'undefined' };

/** SQL text literal. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The rank of what json_type or json_each's `type` column says; NULL, for nothing there, gives 0. */
export function rankOfJsonType(type: string): string {
  return (
    `CASE ${type} WHEN 'text' THEN 4 WHEN 'integer' THEN 3 WHEN 'real' THEN 3 WHEN 'true' THEN 2 ` +
    `WHEN 'false' THEN 2 WHEN 'null' THEN 1 WHEN 'array' THEN 5 WHEN 'object' THEN 6 ELSE 0 END`
  );
}

/** The value at a path (`$."a"[0]`) of a JSON text. Index expressions are made of the same two texts. */
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

/** The value that an SQL expression gives as JSON text, undefined where it gives NULL. */
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

/** The value where it has this type, else NULL. */
export function as(kind: KnownKind, value: TypedSql): string {
  if (value.kind === kind) return value.sql;
  if (value.kind !== 'any') return 'NULL';
  return `CASE WHEN ${value.rank} = ${RANK[kind]} THEN ${value.value} END`;
}

export function isDefined(value: TypedSql): string {
  if (value.kind === 'undefined' || value.kind === 'null') return value.kind === 'null' ? '1' : '0';
  return value.kind === 'any' ? `(${value.rank} <> 0)` : `(${value.sql} IS NOT NULL)`;
}

/** JSON text, NULL where the value is undefined. */
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

/** What two equal values share and different ones do not: rank and value, objects with their keys in order. */
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

/** `{"a":…,"b":…}` without the properties that are undefined. */
export function objectOf(fields: { name: string; value: TypedSql }[]): TypedSql {
  const parts = fields.map(({ name, value }) => [`,${JSON.stringify(name)}:`, value] as const);
  return { kind: 'object', sql: joined('{', parts, '}') };
}

/** `[…]` without the items that are undefined. */
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
