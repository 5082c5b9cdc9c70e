import { BadQuery, type Span } from '../errors.ts';

export type Token = Span &
  (
    | { kind: 'name' | 'parameter' | 'symbol'; text: string }
    | { kind: 'string'; text: string }
    | { kind: 'number'; text: string; value: number }
    | { kind: 'end'; text: string }
  );

const SPACE_OR_COMMENT = /(?:\s+|--[^\n]*)+/y;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const PARAMETER = /@[\p{L}\p{N}_$.]+/uy;
const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/suy;
const SYMBOL = />>>|<<|>>|<=|>=|!=|<>|\|\||\?\?|[-+*/%&|^~=<>?:,.(){}[\]]/y;

/** Splits a query text into tokens, ending in one `end` token. Names keep their case. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = position;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) position += found.length;
    return found;
  };
  for (;;) {
    take(SPACE_OR_COMMENT);
    const start = position;
    if (position >= text.length) {
      tokens.push({ kind: 'end', text: '', start, end: start });
      return tokens;
    }
    tokens.push(nextToken(take, text, start));
  }
}

function nextToken(take: (pattern: RegExp) => string | undefined, text: string, start: number): Token {
  const name = take(NAME);
  if (name !== undefined) return { kind: 'name', text: name, start, end: start + name.length };
  const number = take(NUMBER);
  if (number !== undefined) {
    const [value, end] = [Number(number), start + number.length];
    if (Number.isFinite(value)) return { kind: 'number', text: number, value, start, end };
    throw new BadQuery(`Syntax error, invalid numeric value token '${number}'.`, { start, end }, 'SC1010');
  }
  const quoted = take(STRING);
  if (quoted !== undefined) {
    const end = start + quoted.length;
    return { kind: 'string', text: unescaped(quoted.slice(1, -1), { start, end }), start, end };
  }
  const parameter = take(PARAMETER);
  if (parameter !== undefined) {
    return { kind: 'parameter', text: parameter, start, end: start + parameter.length };
  }
  const symbol = take(SYMBOL);
  if (symbol !== undefined) return { kind: 'symbol', text: symbol, start, end: start + symbol.length };
  throw new BadQuery(
    `Syntax error, invalid token near '${text.slice(start, start + 10)}'.`,
    { start, end: start + 1 },
    'SC1010',
  );
}

const ESCAPES: Record<string, string> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '/': '/',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Strings escape as in JSON, plus `\'`. */
function unescaped(body: string, at: Span): string {
  return body.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gsu, (_, hex: string | undefined, letter: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    const plain = ESCAPES[letter];
    if (plain === undefined) {
      throw new BadQuery(`Syntax error, invalid string literal token '\\${letter}'.`, at, 'SC1012');
    }
    return plain;
  });
}
