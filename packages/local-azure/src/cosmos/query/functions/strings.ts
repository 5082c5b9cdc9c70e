import { as } from '../compile/typedSql.ts';
import { type FunctionTable, inline, inlineOf, scalar } from './definition.ts';
import { regularExpression } from './patterns.ts';

const folded = (text: string, ignoreCase: boolean | undefined) =>
  ignoreCase === true ? text.toLowerCase() : text;

/** Clamps a position or length to the text and drops its fraction. */
const clamp = (value: number, most: number) => Math.min(Math.max(Math.trunc(value), 0), most);

const TEXT_TEST = ['string', 'string', 'boolean'] as const;

export const stringFunctions: FunctionTable = {
  CONTAINS: scalar(
    TEXT_TEST,
    'boolean',
    (text, part, ignoreCase) => folded(text, ignoreCase).includes(folded(part, ignoreCase)),
    2,
  ),
  STARTSWITH: scalar(
    TEXT_TEST,
    'boolean',
    (text, part, ignoreCase) => folded(text, ignoreCase).startsWith(folded(part, ignoreCase)),
    2,
  ),
  ENDSWITH: scalar(
    TEXT_TEST,
    'boolean',
    (text, part, ignoreCase) => folded(text, ignoreCase).endsWith(folded(part, ignoreCase)),
    2,
  ),
  STRINGEQUALS: scalar(
    TEXT_TEST,
    'boolean',
    (text, other, ignoreCase) => folded(text, ignoreCase) === folded(other, ignoreCase),
    2,
  ),
  LOWER: scalar(['string'], 'string', (text) => text.toLowerCase()),
  UPPER: scalar(['string'], 'string', (text) => text.toUpperCase()),
  LENGTH: inlineOf('string', 'number', (text) => `length(${text})`),
  CONCAT: inline(2, 100, (args) => ({
    kind: 'string',
    sql: `(${args.map((arg) => as('string', arg)).join(' || ')})`,
  })),
  SUBSTRING: scalar(['string', 'number', 'number'], 'string', (text, start, length) => {
    const from = clamp(start, text.length);
    return text.slice(from, from + clamp(length, text.length));
  }),
  LEFT: scalar(['string', 'number'], 'string', (text, length) => text.slice(0, clamp(length, text.length))),
  RIGHT: scalar(['string', 'number'], 'string', (text, length) =>
    text.slice(text.length - clamp(length, text.length)),
  ),
  INDEX_OF: scalar(
    ['string', 'string', 'number'],
    'number',
    (text, part, start) => text.indexOf(part, start ?? 0),
    2,
  ),
  REPLACE: scalar(['string', 'string', 'string'], 'string', (text, part, by) =>
    part === '' ? text : text.replaceAll(part, () => by),
  ),
  REPLICATE: scalar(['string', 'number'], 'string', (text, times) =>
    times < 0 || times * text.length > 10_000 ? undefined : text.repeat(Math.trunc(times)),
  ),
  REVERSE: scalar(['string'], 'string', (text) => Array.from(text).reverse().join('')),
  TRIM: scalar(['string', 'string'], 'string', (text, cut) => trimEnd(trimStart(text, cut), cut), 1),
  LTRIM: scalar(['string', 'string'], 'string', trimStart, 1),
  RTRIM: scalar(['string', 'string'], 'string', trimEnd, 1),
  REGEXMATCH: scalar(
    ['string', 'string', 'string'],
    'boolean',
    (text, pattern, modifiers) => regularExpression(pattern, modifiers ?? '')?.test(text),
    2,
  ),
  STRINGJOIN: scalar(['array', 'string'], 'string', (parts, separator) =>
    parts.every((part) => typeof part === 'string') ? parts.join(separator) : undefined,
  ),
  STRINGSPLIT: scalar(['string', 'string'], 'array', (text, separator) => text.split(separator)),
};

function trimStart(text: string, cut: string | undefined): string {
  if (cut === undefined) return text.trimStart();
  return cut !== '' && text.startsWith(cut) ? trimStart(text.slice(cut.length), cut) : text;
}

function trimEnd(text: string, cut: string | undefined): string {
  if (cut === undefined) return text.trimEnd();
  return cut !== '' && text.endsWith(cut) ? trimEnd(text.slice(0, -cut.length), cut) : text;
}
