/** One element of an array: its text as latin1, or why it is not looked at. */
export type JsonElement = { kind: 'element'; text: string } | { kind: 'tooLong' } | { kind: 'tooDeep' };

/**
 * Where the text is in the array:
 *
 *   before ──[──► inside ──]──► after
 *
 * `strayText`: what comes first is no array, or something follows it. `text` begins there.
 */
export type ArrayEvent = JsonElement | { kind: 'strayText'; where: 'before' | 'after'; text: string };

const code = {
  quote: 34,
  comma: 44,
  open: 91,
  backslash: 92,
  close: 93,
  openBrace: 123,
  closeBrace: 125,
} as const;

/**
 * Splits a JSON array into the texts of its elements, part by part, by nothing but brackets, strings and commas. So an element
 * that is not JSON costs no other, as long as its brackets and quotes match.
 *
 * No streaming parser from npm is used (@streamparser/json 0.0.26, stream-json 3.8.0): their first error is their last, they
 * limit neither nesting nor the length of a string, and they turn `1999.0` into 1999, which is to be refused.
 */
export function jsonElements(limits: { rowBytes: number; nesting: number }) {
  let where: 'before' | 'inside' | 'after' = 'before';
  /** What there is of the element that is not finished. */
  let rest = '';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let fault: 'tooLong' | 'tooDeep' | undefined;
  let elements = 0;

  return { push, end };

  function* push(part: string): Generator<ArrayEvent> {
    let at = 0;
    if (where === 'before') {
      at = part.search(/[^ \t\n\r]/);
      if (at === -1) return;
      if (part[at] !== '[') return yield { kind: 'strayText', where, text: part.slice(at) };
      where = 'inside';
      at++;
    }
    let from = at;
    for (; at < part.length && where === 'inside'; at++) {
      if (!isBoundary(part.charCodeAt(at))) continue;
      const isEnd = part.charCodeAt(at) === code.close;
      const element = finish(part.slice(from, at), isEnd);
      from = at + 1;
      if (isEnd) where = 'after';
      if (element !== undefined) yield element;
    }
    if (where === 'inside') hold(part.slice(from));
    else {
      const stray = part.slice(from).search(/[^ \t\n\r]/);
      if (stray !== -1) yield { kind: 'strayText', where: 'after', text: part.slice(from + stray) };
    }
  }

  /** Whether the array has ended; otherwise what there is of an unfinished element. */
  function end(): { complete: boolean; unfinished: string; isEmpty: boolean } {
    return { complete: where === 'after', unfinished: rest, isEmpty: where === 'before' };
  }

  /** Follows the grammar by one character. True for a comma between elements and for the end of the array. */
  function isBoundary(char: number): boolean {
    if (inString) {
      if (escaped) escaped = false;
      else if (char === code.backslash) escaped = true;
      else if (char === code.quote) inString = false;
      return false;
    }
    switch (char) {
      case code.quote:
        inString = true;
        return false;
      case code.open:
      case code.openBrace:
        depth++;
        if (depth > limits.nesting) fault ??= 'tooDeep';
        return false;
      case code.close:
        if (depth === 0) return true;
        depth--;
        return false;
      case code.closeBrace:
        if (depth > 0) depth--;
        return false;
      default:
        return char === code.comma && depth === 0;
    }
  }

  function hold(text: string): void {
    if (fault === undefined && rest.length + text.length > limits.rowBytes) fault = 'tooLong';
    rest = fault === undefined ? rest + text : '';
  }

  function finish(text: string, isEnd: boolean): JsonElement | undefined {
    hold(text);
    const [found, kind] = [rest, fault];
    rest = '';
    fault = undefined;
    elements++;
    if (kind !== undefined) return { kind };
    if (isEnd && elements === 1 && found.trim() === '') return undefined;
    return { kind: 'element', text: found };
  }
}
