import type { Expression } from '../ast.ts';
import { UnsupportedQuery } from '../errors.ts';
import type { Cursor } from './cursor.ts';

/** A value with the unary operators before it and the property steps after it. */
export function parseOperand(cursor: Cursor): Expression {
  for (const operator of ['-', '+', '~'] as const) {
    if (!cursor.takeSymbol(operator)) continue;
    const of = parseOperand(cursor);
    if (operator === '-' && of.kind === 'literal' && typeof of.value === 'number') {
      return { kind: 'literal', value: -of.value };
    }
    return { kind: 'unary', operator, of };
  }
  return parseSteps(cursor, parsePrimary(cursor));
}

/** Any number of steps: `.name`, `["name"]`, `[0]`, `[@key]`. */
export function parseSteps(cursor: Cursor, root: Expression): Expression {
  const start = 'at' in root ? root.at.start : cursor.peek().start;
  let of = root;
  for (;;) {
    if (cursor.takeSymbol('.')) {
      if (cursor.peek().kind !== 'name') cursor.fail();
      const key: Expression = { kind: 'literal', value: cursor.take().text };
      of = { kind: 'property', of, key, at: cursor.since(start) };
    } else if (cursor.takeSymbol('[')) {
      const key = cursor.expression();
      cursor.expectSymbol(']');
      of = { kind: 'property', of, key, at: cursor.since(start) };
    } else {
      return of;
    }
  }
}

const CONSTANTS: Record<string, Expression> = {
  null: { kind: 'literal', value: null },
  true: { kind: 'literal', value: true },
  false: { kind: 'literal', value: false },
  undefined: { kind: 'undefined' },
};

function parsePrimary(cursor: Cursor): Expression {
  const token = cursor.peek();
  switch (token.kind) {
    case 'number':
      cursor.take();
      return { kind: 'literal', value: token.value };
    case 'string':
      cursor.take();
      return { kind: 'literal', value: token.text };
    case 'parameter':
      cursor.take();
      return { kind: 'parameter', name: token.text, at: { start: token.start, end: token.end } };
    case 'symbol':
      return parseBracketed(cursor);
    case 'name':
      return parseWord(cursor, token.text);
    case 'end':
      return cursor.fail();
  }
}

function parseBracketed(cursor: Cursor): Expression {
  if (cursor.takeSymbol('[')) return { kind: 'array', items: cursor.expressions(']') };
  if (cursor.takeSymbol('{')) return { kind: 'object', fields: parseFields(cursor) };
  if (!cursor.takeSymbol('(')) return cursor.fail();
  const inner: Expression = cursor.atWord('select')
    ? { kind: 'scalar', query: cursor.query() }
    : cursor.expression();
  cursor.expectSymbol(')');
  return inner;
}

function parseFields(cursor: Cursor): { name: string; value: Expression }[] {
  const fields: { name: string; value: Expression }[] = [];
  if (cursor.takeSymbol('}')) return fields;
  do {
    const token = cursor.peek();
    if (token.kind !== 'name' && token.kind !== 'string') cursor.fail();
    cursor.take();
    cursor.expectSymbol(':');
    fields.push({ name: token.text, value: cursor.expression() });
  } while (cursor.takeSymbol(','));
  cursor.expectSymbol('}');
  return fields;
}

function parseWord(cursor: Cursor, text: string): Expression {
  const start = cursor.peek().start;
  const word = text.toLowerCase();
  const constant = Object.hasOwn(CONSTANTS, word) ? CONSTANTS[word] : undefined;
  if (constant !== undefined) {
    cursor.take();
    return constant;
  }
  if ((word === 'exists' || word === 'array') && cursor.atSymbol('(', 1)) {
    cursor.take();
    cursor.take();
    const query = cursor.query();
    cursor.expectSymbol(')');
    return { kind: word === 'exists' ? 'exists' : 'arrayOf', query };
  }
  if (word === 'udf' && cursor.atSymbol('.', 1)) throw new UnsupportedQuery('user-defined functions (udf.*)');
  if (cursor.atSymbol('(', 1)) {
    // Any word before a bracket is a function, LEFT and RIGHT included. The compiler checks the name.
    cursor.take();
    cursor.take();
    const args = cursor.expressions(')');
    return { kind: 'call', name: text, args, at: { start, end: start + text.length } };
  }
  const name = cursor.expectName();
  return { kind: 'name', name, at: cursor.since(start) };
}
