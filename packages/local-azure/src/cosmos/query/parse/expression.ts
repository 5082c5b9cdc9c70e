import type { BinaryOperator, Expression } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import type { Cursor } from './cursor.ts';
import { parseOperand } from './operand.ts';

/** Binary operators, loosest first. `?:`, `??`, OR, AND, NOT and comparison bind even more loosely. */
const LEVELS: readonly (readonly BinaryOperator[])[] = [
  ['||'],
  ['|'],
  ['^'],
  ['&'],
  ['<<', '>>', '>>>'],
  ['+', '-'],
  ['*', '/', '%'],
];

export function parseExpression(cursor: Cursor): Expression {
  const condition = parseCoalesce(cursor);
  if (!cursor.takeSymbol('?')) return condition;
  const whenTrue = parseExpression(cursor);
  cursor.expectSymbol(':');
  return { kind: 'conditional', condition, whenTrue, otherwise: parseExpression(cursor) };
}

function parseCoalesce(cursor: Cursor): Expression {
  const left = parseOr(cursor);
  if (!cursor.takeSymbol('??')) return left;
  return { kind: 'binary', operator: '??', left, right: parseCoalesce(cursor) };
}

function parseOr(cursor: Cursor): Expression {
  let left = parseAnd(cursor);
  while (cursor.takeWord('or')) left = { kind: 'binary', operator: 'or', left, right: parseAnd(cursor) };
  return left;
}

function parseAnd(cursor: Cursor): Expression {
  let left = parseNot(cursor);
  while (cursor.takeWord('and')) left = { kind: 'binary', operator: 'and', left, right: parseNot(cursor) };
  return left;
}

function parseNot(cursor: Cursor): Expression {
  if (cursor.takeWord('not')) return { kind: 'unary', operator: 'not', of: parseNot(cursor) };
  return parseComparison(cursor);
}

function parseComparison(cursor: Cursor): Expression {
  const of = parseLevel(cursor, 0);
  for (const symbol of ['=', '!=', '<>', '<=', '>=', '<', '>'] as const) {
    if (!cursor.takeSymbol(symbol)) continue;
    const right = parseLevel(cursor, 0);
    return { kind: 'binary', operator: symbol === '<>' ? '!=' : symbol, left: of, right };
  }
  const negated = cursor.atWord('not') && ['in', 'between', 'like'].some((word) => cursor.atWord(word, 1));
  if (negated) cursor.take();
  const test = parseTest(cursor, of);
  if (test === undefined) return of;
  return negated ? { kind: 'unary', operator: 'not', of: test } : test;
}

function parseTest(cursor: Cursor, of: Expression): Expression | undefined {
  if (cursor.takeWord('between')) {
    const low = parseLevel(cursor, 0);
    cursor.expectWord('and');
    return { kind: 'between', of, low, high: parseLevel(cursor, 0) };
  }
  if (cursor.takeWord('in')) {
    const start = cursor.peek().start;
    cursor.expectSymbol('(');
    const list = cursor.expressions(')');
    if (list.length === 0)
      throw new BadQuery("Syntax error, incorrect syntax near ')'.", cursor.since(start));
    return { kind: 'in', of, list };
  }
  if (cursor.takeWord('like')) {
    const pattern = parseLevel(cursor, 0);
    const escapedBy = cursor.takeWord('escape') ? parseLevel(cursor, 0) : undefined;
    return { kind: 'like', of, pattern, escape: escapedBy };
  }
  return undefined;
}

function parseLevel(cursor: Cursor, level: number): Expression {
  const operators = LEVELS[level];
  if (operators === undefined) return parseOperand(cursor);
  let left = parseLevel(cursor, level + 1);
  for (;;) {
    const operator = operators.find((symbol) => cursor.takeSymbol(symbol));
    if (operator === undefined) return left;
    left = { kind: 'binary', operator, left, right: parseLevel(cursor, level + 1) };
  }
}
