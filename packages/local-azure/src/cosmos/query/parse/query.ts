import type { Expression, Projection, Query, SortKey, Source } from '../ast.ts';
import { UnsupportedQuery } from '../errors.ts';
import { Cursor } from './cursor.ts';
import { parseExpression } from './expression.ts';
import { parseSteps } from './operand.ts';

/**
 * Parses a whole query text in the language of https://learn.microsoft.com/azure/cosmos-db/nosql/query/.
 *
 * @throws {BadQuery} on a syntax error
 */
export function parse(text: string): Query {
  const cursor = new Cursor(text, { expression: parseExpression, query: parseQuery });
  const query = parseQuery(cursor);
  if (cursor.peek().kind !== 'end') cursor.fail();
  return query;
}

export function parseQuery(cursor: Cursor): Query {
  const start = cursor.peek().start;
  cursor.expectWord('select');
  const distinct = cursor.takeWord('distinct');
  const top = cursor.takeWord('top') ? parseCount(cursor) : undefined;
  const projection = parseProjection(cursor);
  const sources = cursor.takeWord('from') ? parseSources(cursor) : [];
  const where = cursor.takeWord('where') ? parseExpression(cursor) : undefined;
  const groupBy = parseGroupBy(cursor);
  const orderBy = parseOrderBy(cursor);
  const offset = cursor.takeWord('offset') ? parseCount(cursor) : undefined;
  if (offset !== undefined) cursor.expectWord('limit');
  const limit = offset === undefined ? undefined : parseCount(cursor);
  const at = cursor.since(start);
  return { distinct, top, projection, sources, where, groupBy, orderBy, offset, limit, at };
}

/** TOP, OFFSET and LIMIT take a number or a parameter, not an expression (`TOP 5 *` is not a product). */
function parseCount(cursor: Cursor): Expression {
  const { kind, start } = cursor.peek();
  if (kind !== 'number' && kind !== 'parameter') cursor.fail();
  const token = cursor.take();
  return token.kind === 'number'
    ? { kind: 'literal', value: token.value }
    : { kind: 'parameter', name: token.text, at: cursor.since(start) };
}

function parseProjection(cursor: Cursor): Projection {
  const start = cursor.peek().start;
  if (cursor.takeSymbol('*')) return { kind: 'star', at: cursor.since(start) };
  if (cursor.takeWord('value')) return { kind: 'value', of: parseExpression(cursor) };
  const items: { of: Expression; alias: string | undefined }[] = [];
  do {
    const of = parseExpression(cursor);
    items.push({ of, alias: parseAlias(cursor) });
  } while (cursor.takeSymbol(','));
  return { kind: 'list', items, at: cursor.since(start) };
}

function parseAlias(cursor: Cursor): string | undefined {
  if (cursor.takeWord('as')) {
    const token = cursor.peek();
    if (token.kind !== 'name' && token.kind !== 'string') cursor.fail();
    return cursor.take().text;
  }
  return cursor.atFreeName() ? cursor.take().text : undefined;
}

function parseSources(cursor: Cursor): Source[] {
  const sources = [parseSource(cursor)];
  while (cursor.takeWord('join')) sources.push(parseSource(cursor));
  return sources;
}

function parseSource(cursor: Cursor): Source {
  const start = cursor.peek().start;
  if (cursor.atFreeName() && cursor.atWord('in', 1)) {
    const alias = cursor.take().text;
    cursor.take();
    return { kind: 'elements', of: parseSourceValue(cursor), alias, at: cursor.since(start) };
  }
  const of = parseSourceValue(cursor);
  return { kind: 'value', of, alias: parseAlias(cursor), at: cursor.since(start) };
}

function parseSourceValue(cursor: Cursor): Source['of'] {
  const start = cursor.peek().start;
  if (cursor.takeSymbol('(')) {
    const query = parseQuery(cursor);
    cursor.expectSymbol(')');
    return { kind: 'subquery', query };
  }
  const name = cursor.expectName();
  return parseSteps(cursor, { kind: 'name', name, at: cursor.since(start) });
}

function parseGroupBy(cursor: Cursor): Expression[] {
  const keys: Expression[] = [];
  if (!cursor.takeWord('group')) return keys;
  cursor.expectWord('by');
  do keys.push(parseExpression(cursor));
  while (cursor.takeSymbol(','));
  return keys;
}

function parseOrderBy(cursor: Cursor): SortKey[] {
  const keys: SortKey[] = [];
  if (!cursor.takeWord('order')) return keys;
  cursor.expectWord('by');
  if (cursor.atWord('rank')) throw new UnsupportedQuery('ORDER BY RANK (full-text and hybrid search)');
  do {
    const start = cursor.peek().start;
    const of = parseExpression(cursor);
    const descending = cursor.takeWord('desc');
    if (!descending) cursor.takeWord('asc');
    keys.push({ of, descending, at: cursor.since(start) });
  } while (cursor.takeSymbol(','));
  return keys;
}
