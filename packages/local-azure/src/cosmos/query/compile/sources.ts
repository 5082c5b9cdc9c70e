import type { Expression, Source } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import type { Compilation } from './compilation.ts';
import { compileExpression } from './expression.ts';
import type { ItemTable, Scope } from './scope.ts';
import { collected } from './subquery.ts';
import { as, isDefined, ofJson, rankOfJsonType, type TypedSql } from './typedSql.ts';

/** FROM as SQL: tables, join conditions, the names it defines, and the ordinals that identify a row. */
export type CompiledSources = {
  tables: string[];
  conditions: string[];
  names: Map<string, TypedSql>;
  ordinals: string[];
  readsItems: boolean;
};

const ITEM: TypedSql = { kind: 'object', sql: 'r.doc', location: { json: 'r.doc', path: '$', stored: true } };

/** `items` is given only at the top of a query: inside a subquery every source starts at an outer name. */
export function compileSources(
  sources: Source[],
  outer: Scope | undefined,
  items: ItemTable | undefined,
  to: Compilation,
): CompiledSources {
  const into: CompiledSources = {
    tables: [],
    conditions: [],
    names: new Map(),
    ordinals: [],
    readsItems: false,
  };
  for (const [index, source] of sources.entries()) {
    const scope: Scope = { sees: 'rows', names: into.names, outer };
    if (index > 0 || items === undefined) addSource(source, scope, into, to);
    else addFirstSource(source, items, into, to);
  }
  return into;
}

function addFirstSource(source: Source, items: ItemTable, into: CompiledSources, to: Compilation): void {
  if (source.of.kind === 'subquery') {
    const rows = to.alias('s');
    into.tables.push(`(${to.rowsOf(source.of.query, undefined, items)}) AS ${rows}`);
    define(source, ofJson(`${rows}.j`), into, to);
    return;
  }
  into.readsItems = true;
  into.tables.push(`${identifier(items.table)} AS r`);
  if (items.within !== undefined) into.conditions.push(`r.${items.within} = :${items.within}`);
  // Counts the items that are read, after whatever an index can tell: SQLite checks that first.
  into.conditions.push('cosmos_visited(r.lsn)', '(r.expires IS NULL OR r.expires > :now)');
  into.ordinals.push('r.rid');
  // Any name at the start of FROM stands for the container's items.
  const container = rootName(source.of);
  const scope: Scope = { sees: 'rows', names: new Map([[container, ITEM]]), outer: undefined };
  define(source, compileExpression(source.of, scope, to), into, to);
}

function addSource(source: Source, scope: Scope, into: CompiledSources, to: Compilation): void {
  if (source.of.kind !== 'subquery') {
    define(source, compileExpression(source.of, scope, to), into, to);
    return;
  }
  const rows = to.rowsOf(source.of.query, scope);
  const row = addElements({ kind: 'array', sql: collected(rows) }, into, to);
  define(source, row, into, to);
}

/** Binds the source's name to the value itself or, for IN, to each of its elements. */
function define(source: Source, value: TypedSql, into: CompiledSources, to: Compilation): void {
  const name = source.alias ?? impliedName(source.of);
  if (name !== undefined && into.names.has(name)) {
    throw new BadQuery(
      `The input alias '${name}' is specified more than once in the FROM clause.`,
      source.at,
      'SC2003',
    );
  }
  if (source.kind === 'value' && value.kind !== 'object') into.conditions.push(isDefined(value));
  const named = source.kind === 'elements' ? addElements(value, into, to) : value;
  into.names.set(name ?? to.alias('unnamed'), named);
}

function addElements(array: TypedSql, into: CompiledSources, to: Compilation): TypedSql {
  const each = to.alias('e');
  if (array.kind === 'any' && array.location !== undefined) {
    const { json, path } = array.location;
    into.tables.push(`json_each(${json}, '${path.replaceAll("'", "''")}') AS ${each}`);
    into.conditions.push(`(${array.rank} = 5)`);
  } else {
    into.tables.push(`json_each(${as('array', array)}) AS ${each}`);
  }
  into.ordinals.push(`${each}.key`);
  return elementOf(each);
}

function elementOf(each: string): TypedSql {
  const json = `CASE WHEN ${each}.type IN ('array', 'object') THEN ${each}.value END`;
  return {
    kind: 'any',
    rank: rankOfJsonType(`${each}.type`),
    value: `${each}.value`,
    location: { json, path: '$', stored: false },
  };
}

function rootName(path: Source['of']): string {
  if (path.kind === 'property') return rootName(path.of);
  return path.kind === 'name' ? path.name : 'root';
}

function impliedName(path: Source['of']): string | undefined {
  if (path.kind === 'name') return path.name;
  return path.kind === 'property' ? lastName(path) : undefined;
}

function lastName(path: Expression & { kind: 'property' }): string | undefined {
  return path.key.kind === 'literal' && typeof path.key.value === 'string' ? path.key.value : undefined;
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
