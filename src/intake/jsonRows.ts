import { errorText } from '../platform/errorText.ts';
import { problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkedRow.ts';
import { checkJsonInvoice } from './checkInvoice.ts';
import { type ArrayEvent, type BodyPlace, jsonElements } from './jsonElements.ts';
import type { ImportLimits, ReadRow, RowReader, Stop } from './rowReader.ts';
import { fromLatin1 } from './utf8.ts';

/** Reads invoices from a JSON array, one per element. The first element that is not JSON ends the reading. */
export function jsonRows(limits: Pick<ImportLimits, 'rowBytes' | 'nesting'>): RowReader {
  const elements = jsonElements(limits);
  let rows = 0;

  return {
    push: (part) => rowsOf(elements.push(part)),
    *end() {
      const { where, text, place } = elements.end();
      if (where === 'before') yield refuse('The body is empty: expected an array of invoices.');
      if (where === 'inside')
        yield broken(rows, placeOf(undefined, text, place), 'the body ends before the ] of its array');
    },
  };

  function* rowsOf(found: Iterable<ArrayEvent>): Generator<ReadRow> {
    for (const event of found) {
      if (event.kind === 'strayText') return yield refuse(whyStray(event));
      yield event.kind === 'refused' ? bad(event.error) : checkElement(event, rows);
      rows++;
    }
  }
}

function checkElement({ text: bytes, place }: { text: string; place: BodyPlace }, row: number): ReadRow {
  const text = fromLatin1(bytes);
  if (text === undefined) return bad('expected text in UTF-8');
  let value: unknown;
  try {
    value = readJson(text);
  } catch (error) {
    return broken(row, placeOf(error, text, place), errorText(error).replace(positionInRow, ''));
  }
  const checked = checkJsonInvoice(value);
  const twice = checked.kind === 'invoice' ? repeatedKey(text, value) : undefined;
  return twice === undefined
    ? checked
    : { kind: 'bad', field: twice, error: 'is there twice: expected once' };
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

const positionInRow = /(?: in JSON)? at position (\d+).*$/s;

/** The place that JSON.parse names; the beginning of the row's text if it names none. */
function placeOf(error: unknown, text: string, { line, position }: BodyPlace): BodyPlace {
  const named = positionInRow.exec(errorText(error))?.[1];
  const before = text.slice(0, named === undefined ? text.search(/\S|$/) : Number(named));
  return { line: line + before.split('\n').length - 1, position: position + Buffer.byteLength(before) };
}

function whyStray({ where, text }: { where: 'before' | 'after'; text: string }): string {
  const first = JSON.stringify(text.slice(0, 1));
  return where === 'before'
    ? `Expected a JSON array of invoices: the body begins with ${first}.`
    : `The body is not JSON: it goes on after its array, with ${first}.`;
}

function broken(row: number, { line, position }: BodyPlace, why: string): Stop {
  const place = `row ${row}, line ${line}, position ${position}`;
  return refuse(
    `The body is not JSON: ${place}: ${why}. Sending the file again is safe: what is stored counts as a duplicate.`,
  );
}

function bad(error: string): CheckedRow {
  return { kind: 'bad', field: 'row', error };
}

function refuse(detail: string): Stop {
  return { kind: 'stop', problem: problem(400, detail) };
}
