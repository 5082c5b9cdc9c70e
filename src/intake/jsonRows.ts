import { problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkedRow.ts';
import { checkJsonInvoice } from './checkInvoice.ts';
import { type ArrayEvent, type JsonElement, jsonElements } from './jsonElements.ts';
import { locateJsonError } from './locateJsonError.ts';
import type { ImportLimits, ReadRow, RowReader, Stop } from './rowReader.ts';
import { fromLatin1 } from './utf8.ts';

/** Rows that are held back until one turns out to be JSON. */
const mostHeld = 100;

/**
 * Reads invoices from a JSON array, one per element. An element that is not JSON costs one row; a body in which none is JSON
 * is refused as a whole.
 */
export function jsonRows(limits: Pick<ImportLimits, 'rowBytes' | 'nesting'>): RowReader {
  const elements = jsonElements(limits);
  let count = 0;
  /** The rows so far, none of which is JSON. Undefined once one is, or when there are too many. */
  let held: CheckedRow[] | undefined = [];

  return {
    push: (part) => rowsOf(elements.push(part)),
    *end() {
      const { complete, unfinished, isEmpty } = elements.end();
      const [first] = held ?? [];
      if (first?.kind === 'bad') yield refuse(`The body is not JSON: row 0 ${first.error}.`);
      else if (isEmpty) yield refuse('The body is empty: expected an array of invoices.');
      else if (!complete) yield refuse(`The body is not JSON: ${whyUnfinished(unfinished, count)}.`);
    },
  };

  function* rowsOf(found: Iterable<ArrayEvent>): Generator<ReadRow> {
    for (const event of found) {
      if (event.kind === 'strayText') {
        yield refuse(event.where === 'before' ? notAnArray(event.text) : 'The body goes on after its array.');
        return;
      }
      count++;
      const { row, isJson } = rowOf(event);
      if (held !== undefined && !isJson && held.length < mostHeld) {
        held.push(row);
        continue;
      }
      yield* held ?? [];
      held = undefined;
      yield row;
    }
  }

  function rowOf(event: JsonElement): { row: CheckedRow; isJson: boolean } {
    switch (event.kind) {
      case 'element':
        return checkElement(event.text);
      case 'tooLong':
        return { row: bad(`expected a row of at most ${limits.rowBytes} bytes`), isJson: true };
      case 'tooDeep':
        return { row: bad(`expected at most ${limits.nesting} levels of nesting`), isJson: true };
    }
  }
}

function checkElement(bytes: string): { row: CheckedRow; isJson: boolean } {
  const text = fromLatin1(bytes);
  if (text === undefined) return { row: bad('expected text in UTF-8'), isJson: true };
  if (text.trim() === '') return { row: bad('expected an invoice between two commas'), isJson: false };
  let value: unknown;
  try {
    value = readJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { row: bad(`is not JSON: ${placeOf(text) ?? error.message}`), isJson: false };
  }
  const row = checkJsonInvoice(value);
  const twice = row.kind === 'invoice' ? repeatedKey(text, value) : undefined;
  if (twice === undefined) return { row, isJson: true };
  return { row: { kind: 'bad', field: twice, error: 'is there twice: expected once' }, isJson: true };
}

/**
 * The first key that a flat object names twice, of which JSON.parse takes the last and somebody who has approved the file
 * may have read the first. Most have as many colons outside of texts as keys.
 */
function repeatedKey(text: string, value: unknown): string | undefined {
  const colons = text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').split(':').length - 1;
  if (colons === Object.keys(Object(value)).length) return undefined;
  const seen = new Set<unknown>();
  for (const [, key = '', colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g)) {
    if (colon === undefined) continue;
    const name: unknown = JSON.parse(key);
    if (seen.has(name)) return String(name);
    seen.add(name);
  }
  return 'row';
}

/**
 * JSON.parse turns `1999.0` and `19.99e2` into 1999. An amount written like that was a float at its source, so the
 * check gets it as the text that was sent, and refuses it.
 */
function readJson(text: string): unknown {
  // A key may be written with escapes.
  if (!text.includes('\\') && !/"amountMinor"\s*:\s*-?\d*[.eE]/.test(text)) return JSON.parse(text);
  const keepFloats = (key: string, value: unknown, context?: { source?: string }): unknown =>
    key === 'amountMinor' && Number.isInteger(value) && /[.eE]/.test(context?.source ?? '')
      ? context?.source
      : value;
  return JSON.parse(text, keepFloats);
}

/** Where a row stops being JSON; undefined if it does not. */
function placeOf(row: string): string | undefined {
  const text = row.trimStart();
  const place = locateJsonError(text);
  if (place === undefined) return undefined;
  const { line, column, expected, found } = place;
  const what = expected === 'the end of the text' ? 'a comma before the next row' : expected;
  return `at line ${line}, column ${column} of the row: expected ${what}, found ${found}`;
}

function whyUnfinished(bytes: string, row: number): string {
  const text = fromLatin1(bytes) ?? bytes;
  const place = text.trim() === '' ? undefined : placeOf(text);
  return place === undefined ? 'it ends before the ] of its array' : `it ends inside row ${row}, ${place}`;
}

function notAnArray(text: string): string {
  const kind = kinds.find(([pattern]) => pattern.test(text))?.[1];
  if (kind !== undefined) return `Expected an array of invoices, not ${kind}.`;
  const found = JSON.stringify(text.slice(0, 1));
  return `The body is not JSON: at line 1, column 1: expected an array of invoices, found ${found}.`;
}

const kinds = [
  [/^\{/, 'an object'],
  [/^"/, 'a string'],
  [/^-?\d/, 'a number'],
  [/^(true|false)\b/, 'a boolean'],
  [/^null\b/, 'null'],
] as const;

function bad(error: string): CheckedRow {
  return { kind: 'bad', field: 'row', error };
}

function refuse(detail: string): Stop {
  return { kind: 'stop', problem: problem(400, detail) };
}
