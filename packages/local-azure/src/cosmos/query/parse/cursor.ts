import type { Expression, Query } from '../ast.ts';
import { BadQuery, type Span } from '../errors.ts';
import { type Token, tokenize } from './tokens.ts';

/** Words that cannot be an alias or a source name. They may still follow a dot (`c.value`). */
const RESERVED = new Set(
  `and array as asc between by desc distinct escape exists false from group in join like limit not null
   offset or order select top true udf undefined value where`.split(/\s+/),
);

/** The recursive rules of the grammar: a bracket holds an expression or a query. */
export type Grammar = { expression(cursor: Cursor): Expression; query(cursor: Cursor): Query };

/** Reads a query's tokens from left to right. Keywords match in any case. */
export class Cursor {
  readonly #tokens: Token[];
  readonly #grammar: Grammar;
  #next = 0;

  constructor(text: string, grammar: Grammar) {
    this.#tokens = tokenize(text);
    this.#grammar = grammar;
  }

  peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new Error('the token list is empty; it must end in an end token');
    return token;
  }

  take(): Token {
    const token = this.peek();
    this.#next++;
    return token;
  }

  /** The span from `start` to the end of the last token taken. */
  since(start: number): Span {
    return { start, end: this.#tokens[this.#next - 1]?.end ?? start };
  }

  atWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'name' && token.text.toLowerCase() === word;
  }

  atSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'symbol' && token.text === symbol;
  }

  takeWord(word: string): boolean {
    if (!this.atWord(word)) return false;
    this.#next++;
    return true;
  }

  takeSymbol(symbol: string): boolean {
    if (!this.atSymbol(symbol)) return false;
    this.#next++;
    return true;
  }

  expectWord(word: string): void {
    if (!this.takeWord(word)) this.fail();
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) this.fail();
  }

  atFreeName(ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'name' && !RESERVED.has(token.text.toLowerCase());
  }

  /** A name that is not a reserved word. */
  expectName(): string {
    if (!this.atFreeName()) this.fail();
    return this.take().text;
  }

  expression(): Expression {
    return this.#grammar.expression(this);
  }

  query(): Query {
    return this.#grammar.query(this);
  }

  /** Comma-separated expressions, up to and including the closing symbol. */
  expressions(close: string): Expression[] {
    const items: Expression[] = [];
    if (this.takeSymbol(close)) return items;
    do items.push(this.expression());
    while (this.takeSymbol(','));
    this.expectSymbol(close);
    return items;
  }

  fail(): never {
    const token = this.peek();
    throw new BadQuery(
      token.kind === 'end' ? 'Syntax error, unexpected end of query.' : nearText(token),
      { start: token.start, end: token.end },
      'SC1001',
    );
  }
}

function nearText(token: Token): string {
  return `Syntax error, incorrect syntax near '${token.text}'.`;
}
