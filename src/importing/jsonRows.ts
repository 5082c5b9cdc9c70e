import { errorText } from '@payonce/leases/error-text';
import { problem } from '../platform/problem.ts';
import { type CheckedRow, checkJsonInvoice } from './checkInvoice.ts';
import {
  type FoundRow,
  fromLatin1,
  type ImportLimits,
  refusedRow,
  type Stop,
  sliceBytes,
  tooLongRow,
} from './readRows.ts';

const code = {
  lineFeed: 10,
  quote: 34,
  comma: 44,
  open: 91,
  backslash: 92,
  close: 93,
  openBrace: 123,
  closeBrace: 125,
} as const;
const space: readonly unknown[] = [32, code.lineFeed, 13, 9];

/**
 * Reads invoices from a JSON array, one per element, split by nothing but brackets, strings and commas, up to an element that is not
 * JSON. Streaming parsers (@streamparser/json 0.0.26, stream-json 3.8.0) limit neither nesting nor strings, and turn `1999.0` into 1999.
 */
export function* jsonRows(
  body: Buffer,
  limits: Pick<ImportLimits, 'rowBytes' | 'nesting'>,
): Generator<FoundRow> {
  const start = yield* afterSpace(body, 0);
  if (start === body.length) return yield refuse('The body is empty: expected an array of invoices.');
  if (body[start] !== code.open)
    return yield refuse(`Expected a JSON array of invoices: the body begins with ${shownByte(body, start)}.`);
  let row = 0;
  let from = start + 1;
  let paused = from;
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = from; at < body.length; at++) {
    if (at - paused >= sliceBytes) {
      paused = at;
      yield undefined;
    }
    const byte = body[at];
    if (inString) {
      if (byte === code.backslash) at++;
      else if (byte === code.quote) inString = false;
    } else if (byte === code.quote) inString = true;
    else if (byte === code.open || byte === code.openBrace) deepest = Math.max(deepest, ++depth);
    else if (depth > 0) {
      if (byte === code.close || byte === code.closeBrace) depth--;
    } else if (byte === code.comma || byte === code.close) {
      if (deepest > limits.nesting) yield refusedRow(`expected at most ${limits.nesting} levels of nesting`);
      else if (at - from > limits.rowBytes) yield refusedRow(tooLongRow(limits));
      else {
        const bytes = body.toString('latin1', from, at);
        const isEmptyArray = byte === code.close && row === 0 && bytes.trim() === '';
        const found = isEmptyArray ? undefined : checkElement(bytes);
        if (found?.kind === 'broken') return yield* brokenOff(body, row, from + found.after, found.why);
        yield found;
      }
      row++;
      from = at + 1;
      deepest = 0;
      if (byte === code.comma) continue;
      const stray = yield* afterSpace(body, from);
      if (stray === body.length) return;
      return yield refuse(
        `The body is not JSON: it goes on after its array, with ${shownByte(body, stray)}.`,
      );
    }
  }
  const end = yield* afterSpace(body, from);
  yield* brokenOff(body, row, end, 'the body ends before the ] of its array');
}

/** Fault of a row that names a field twice. */
export const isTwice = 'is there twice: expected once';

/** One element. `broken`: it is no JSON, which shows after so many of its bytes. */
function checkElement(bytes: string): CheckedRow | { kind: 'broken'; after: number; why: string } {
  const text = fromLatin1(bytes);
  if (text === undefined) return refusedRow('expected text in UTF-8');
  let value: unknown;
  try {
    value = readJson(text);
  } catch (error) {
    const why = errorText(error);
    // The beginning of the element, if no place in it is named.
    const place = positionInRow.exec(why)?.[1] ?? text.search(/\S|$/);
    const after = Buffer.byteLength(text.slice(0, Number(place)));
    return { kind: 'broken', after, why: why.replace(positionInRow, '') };
  }
  const checked = checkJsonInvoice(value);
  const twice = checked.kind === 'invoice' ? repeatedKey(text, value) : undefined;
  return twice === undefined ? checked : { kind: 'bad', field: twice, error: isTwice };
}

/**
 * The first key that a flat object names twice: JSON.parse takes the last, and a person may have read the first. Most objects have as
 * many colons outside of texts as keys.
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

/** JSON.parse, but an amount like `1999.0` or `19.99e2` stays the text that was sent, which is refused: it was a float. */
export function readJson(text: string): unknown {
  // A key may be written with escapes.
  if (!text.includes('\\') && !/"amountMinor"\s*:\s*-?\d*[.eE]/.test(text)) return JSON.parse(text);
  const keepFloats = (key: string, value: unknown, context?: { source?: string }): unknown =>
    key === 'amountMinor' && Number.isInteger(value) && /[.eE]/.test(context?.source ?? '')
      ? context?.source
      : value;
  return JSON.parse(text, keepFloats);
}

const positionInRow = /(?: in JSON)? at position (\d+).*$/s;

/** The first place from here on that is no white space of JSON; the length of the body if there is none. */
function* afterSpace(body: Buffer, from: number): Generator<undefined, number> {
  let at = from;
  for (; space.includes(body[at]); at++) if (at % sliceBytes === 0) yield undefined;
  return at;
}

function shownByte(body: Buffer, at: number): string {
  return JSON.stringify(body.toString('latin1', at, at + 1));
}

function* brokenOff(body: Buffer, row: number, position: number, why: string): Generator<FoundRow> {
  let line = 1;
  for (let at = 0; at < position; at++) {
    if (body[at] === code.lineFeed) line++;
    if (at % sliceBytes === 0) yield undefined;
  }
  const place = `row ${row}, line ${line}, position ${position}`;
  yield refuse(
    `The body is not JSON: ${place}: ${why}. Sending the file again is safe: what is stored counts as a duplicate.`,
  );
}

function refuse(detail: string): Stop {
  return { kind: 'stop', problem: problem(400, detail) };
}
