/** The beginning of an element in the body: its line (from 1) and the bytes before it. */
export interface BodyPlace {
  line: number;
  position: number;
}

/** One element of an array: its text as latin1, or the reason why it is not looked at. */
export type JsonElement =
  | { kind: 'element'; text: string; place: BodyPlace }
  | { kind: 'refused'; error: string };

/** `strayText`: the body begins with something other than an array, or something follows the array. */
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
 * Splits a JSON array into the texts of its elements, part by part, by nothing but brackets, strings and commas.
 *
 * No streaming parser from npm is used (@streamparser/json 0.0.26, stream-json 3.8.0): they limit neither nesting nor the
 * length of a string, and they turn `1999.0` into 1999, which is to be refused.
 */
export function jsonElements(limits: { rowBytes: number; nesting: number }) {
  let where: 'before' | 'inside' | 'after' = 'before';
  /** Text of the unfinished element. */
  let rest = '';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let error: string | undefined;
  let elements = 0;
  /** The beginning of the unfinished element, and the end of what was read. */
  let place: BodyPlace = { line: 1, position: 0 };
  let read: BodyPlace = place;

  return { push, end };

  function* push(part: string): Generator<ArrayEvent> {
    let from = 0;
    if (where === 'before') {
      const start = part.search(/[^ \t\n\r]/);
      if (start === -1) return count(part);
      if (part[start] !== '[') return yield { kind: 'strayText', where, text: part.slice(start) };
      where = 'inside';
      from = start + 1;
      count(part.slice(0, from));
      place = read;
    }
    for (let at = from; at < part.length && where === 'inside'; at++) {
      if (!isBoundary(part.charCodeAt(at))) continue;
      hold(part.slice(from, at));
      if (part.charCodeAt(at) === code.close) where = 'after';
      const element = finish();
      if (element !== undefined) yield element;
      from = at + 1;
      read = place = { ...read, position: read.position + 1 };
    }
    if (where === 'inside') hold(part.slice(from));
    else {
      const stray = part.slice(from).trim();
      if (stray !== '') yield { kind: 'strayText', where: 'after', text: stray };
    }
  }

  /** The state at the end of the body, and the element that was being read. */
  function end() {
    return { where, text: rest, place };
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
        if (depth > limits.nesting) error ??= `expected at most ${limits.nesting} levels of nesting`;
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
    count(text);
    if (rest.length + text.length > limits.rowBytes)
      error ??= `expected a row of at most ${limits.rowBytes} bytes`;
    rest = error === undefined ? rest + text : '';
  }

  function count(text: string): void {
    read = { line: read.line + text.split('\n').length - 1, position: read.position + text.length };
  }

  function finish(): JsonElement | undefined {
    const [text, refusal] = [rest, error];
    rest = '';
    error = undefined;
    elements++;
    if (refusal !== undefined) return { kind: 'refused', error: refusal };
    if (where === 'after' && elements === 1 && text.trim() === '') return undefined;
    return { kind: 'element', text, place };
  }
}
