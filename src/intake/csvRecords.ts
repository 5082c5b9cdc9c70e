import { nextOf } from './nextOf.ts';

/** One record: its cells as latin1, or why they cannot be told apart. `line` is where it begins, counted from 1. */
export type CsvRecord = { line: number } & ({ cells: string[] } | { unreadable: string });

export const badCsv = {
  strayQuote:
    'a double quote inside a value: expected the whole value in quotes, with each quote in it doubled',
  afterQuote: 'text after the closing quote of a value: expected a comma or the end of the line there',
  notClosed: 'the text ends inside a quoted value: expected a closing quote',
} as const;

/** A record as far as the text goes. */
type Scanned =
  /** `end`: where it ends, before its line end. `lines`: how many lines it takes. */
  | { kind: 'whole'; cells: string[]; fault: string | undefined; end: number; lines: number }
  /** `as`: a short text after which the rest of the record is read as it would be after all of this one. */
  | { kind: 'cut'; as: string };

/**
 * Splits CSV (RFC 4180) into records, part by part. CRLF, LF and CR all end a line, also mixed. A quote at the beginning of
 * a cell opens a value that runs to its closing quote, over any number of lines, also in a record with a fault or one that
 * is too long. So text inside quotes is never taken for a row.
 *
 * csv-parse is not used because it cannot be bounded (7.0.3): above `max_record_size` it drops the rest of the chunk with the
 * record, and each stray quote makes an error that repeats the cell so far, which takes quadratic time.
 */
export function csvRecords(maxBytes: number) {
  const [quotes, commas, lineFeeds, returns] = [
    nextOf('"'),
    nextOf(','),
    nextOf('\n'),
    nextOf('\r'),
  ] as const;
  let rest = '';
  let line = 1;
  /** Lines of the unfinished record whose text is gone, because the record is too long. Undefined: all of it is there. */
  let droppedLines: number | undefined;
  /** The last record ended in CR, so an LF right behind it belongs to it. */
  let afterReturn = false;

  return { push: (part: string) => records(part, false), end: () => records('', true) };

  function* records(part: string, isLast: boolean): Generator<CsvRecord> {
    let text = rest + part;
    if (text === '') return;
    if (afterReturn && text.startsWith('\n')) text = text.slice(1);
    afterReturn = false;
    for (const finder of [quotes, commas, lineFeeds, returns]) finder.reset();
    let at = 0;
    while (at < text.length) {
      const found = scan(text, at, isLast);
      if (found.kind === 'cut') {
        rest = remembered(text, at, found.as);
        return;
      }
      const { cells, fault, end, lines } = found;
      const isTooLong = droppedLines !== undefined || end - at > maxBytes;
      const isBlank = cells.length === 1 && cells[0]?.trim() === '';
      if (fault === badCsv.notClosed) yield { line, unreadable: fault };
      else if (isTooLong) yield { line, unreadable: tooLong(maxBytes) };
      else if (fault !== undefined) yield { line, unreadable: fault };
      else if (!isBlank) yield { line, cells };
      line += lines + (droppedLines ?? 0);
      droppedLines = undefined;
      at = Math.min(text.length, end + (text.startsWith('\r\n', end) ? 2 : 1));
      afterReturn = at === text.length && text.endsWith('\r');
    }
    rest = '';
  }

  function remembered(text: string, at: number, as: string): string {
    if (droppedLines === undefined && text.length - at <= maxBytes) return text.slice(at);
    droppedLines = (droppedLines ?? 0) + lineEnds(text, at, text.length);
    return as;
  }

  function scan(text: string, from: number, isLast: boolean): Scanned {
    const firstEnd = endOfLine(text, from);
    if (quotes.in(text, from) > firstEnd) {
      if (firstEnd === text.length && !isLast) return unquotedCut(text);
      return {
        kind: 'whole',
        cells: text.slice(from, firstEnd).split(','),
        fault: undefined,
        end: firstEnd,
        lines: 1,
      };
    }
    const cells: string[] = [];
    let fault: string | undefined;
    let lines = 1;
    for (let at = from; ; ) {
      let closed = at;
      if (text[at] === '"') {
        const close = closingQuote(text, at);
        if (close >= text.length - 1 && !isLast) return { kind: 'cut', as: close < text.length ? '""' : '"' };
        if (close === text.length)
          return { kind: 'whole', cells, fault: badCsv.notClosed, end: close, lines };
        lines += lineEnds(text, at, close);
        closed = close + 1;
      }
      const lineEnd = endOfLine(text, closed);
      const end = Math.min(commas.in(text, closed), lineEnd);
      if (end === text.length && !isLast) return unquotedCut(text);
      if (closed > at) {
        cells.push(text.slice(at + 1, closed - 1).replaceAll('""', '"'));
        if (end > closed) fault ??= badCsv.afterQuote;
      } else {
        const cell = text.slice(at, end);
        cells.push(cell);
        if (cell.includes('"')) fault ??= badCsv.strayQuote;
      }
      if (end === lineEnd) return { kind: 'whole', cells, fault, end: lineEnd, lines };
      at = end + 1;
    }
  }

  function endOfLine(text: string, from: number): number {
    return Math.min(lineFeeds.in(text, from), returns.in(text, from));
  }
}

/** The text ends in a cell without quotes, or where the next cell begins. */
function unquotedCut(text: string): Scanned {
  return { kind: 'cut', as: text.endsWith(',') ? ',' : 'x' };
}

/** Where the value ends that a quote opens at `open`; the length of the text if it does not. */
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return text.length;
}

function lineEnds(text: string, from: number, to: number): number {
  const ends = text.slice(from, to).match(/\r\n|\n|\r/g);
  return ends?.length ?? 0;
}

function tooLong(maxBytes: number): string {
  return `expected a row of at most ${maxBytes} bytes`;
}
