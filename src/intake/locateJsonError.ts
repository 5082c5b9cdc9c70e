/** Where a text stops being JSON. Line and column count from 1, the column in UTF-16 code units. */
export interface JsonError {
  line: number;
  column: number;
  expected: string;
  /** The character there, or the end of the text. */
  found: string;
}

type Expecting = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd' | 'nothing';

const words: Record<Expecting, string> = {
  value: 'a value',
  valueOrEnd: 'a value or ]',
  key: 'a name in double quotes',
  keyOrEnd: 'a name in double quotes or }',
  colon: 'a colon',
  commaOrEnd: 'a comma or the end of the array or object',
  nothing: 'the end of the text',
};

const space = /[ \t\n\r]*/y;
const string = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const plain = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Finds where a text first breaks the JSON grammar (RFC 8259). Undefined if the text is JSON. For texts that
 * JSON.parse has refused: JSON.parse itself gives the position of only some errors.
 */
export function locateJsonError(text: string): JsonError | undefined {
  const open: ('[' | '{')[] = [];
  let expecting: Expecting = 'value';
  let at = 0;

  while (true) {
    at += lengthOf(space, text, at);
    const char = text[at];
    if (char === undefined) return expecting === 'nothing' ? undefined : error();
    const isValue: boolean = expecting === 'value' || expecting === 'valueOrEnd';
    const isKey: boolean = expecting === 'key' || expecting === 'keyOrEnd';
    let length = 1;
    if (isValue && (char === '[' || char === '{')) {
      open.push(char);
      expecting = char === '[' ? 'valueOrEnd' : 'keyOrEnd';
    } else if (isEnd(char)) {
      open.pop();
      expecting = afterValue();
    } else if (expecting === 'commaOrEnd' && char === ',') {
      expecting = open.at(-1) === '[' ? 'value' : 'key';
    } else if (expecting === 'colon' && char === ':') {
      expecting = 'value';
    } else {
      if (isKey || (isValue && char === '"')) length = lengthOf(string, text, at);
      else length = isValue ? lengthOf(plain, text, at) : 0;
      if (length === 0) return error();
      expecting = isKey ? 'colon' : afterValue();
    }
    at += length;
  }

  function isEnd(char: string): boolean {
    if (char === ']')
      return open.at(-1) === '[' && (expecting === 'valueOrEnd' || expecting === 'commaOrEnd');
    return char === '}' && open.at(-1) === '{' && (expecting === 'keyOrEnd' || expecting === 'commaOrEnd');
  }

  function afterValue(): Expecting {
    return open.length === 0 ? 'nothing' : 'commaOrEnd';
  }

  function error(): JsonError {
    const before = text.slice(0, at);
    const codePoint = text.codePointAt(at);
    return {
      line: before.split('\n').length,
      column: at - before.lastIndexOf('\n'),
      expected: words[expecting],
      found: codePoint === undefined ? 'the end' : JSON.stringify(String.fromCodePoint(codePoint)),
    };
  }
}

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
