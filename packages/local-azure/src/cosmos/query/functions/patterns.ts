const MAX_CACHED = 200;
const cache = new Map<string, RegExp | undefined>();

/** The expression of RegexMatch with modifiers m, s, i and x. Undefined if it is invalid. */
export function regularExpression(pattern: string, modifiers: string): RegExp | undefined {
  return cached(`r${modifiers}/${pattern}`, () => {
    if (!/^[msix]*$/.test(modifiers)) return undefined;
    const source = modifiers.includes('x') ? pattern.replace(/\s+|#.*$/gm, '') : pattern;
    try {
      return new RegExp(source, `u${[...new Set(modifiers.replace('x', ''))].join('')}`);
    } catch {
      return undefined;
    }
  });
}

/** LIKE: `%` is any text, `_` one character, `[a-f]` and `[^a-f]` a set. The escape character quotes the next. */
export function like(text: string, pattern: string, escapedBy: string): boolean | undefined {
  return cached(`l${escapedBy}/${pattern}`, () => likeExpression(pattern, escapedBy))?.test(text);
}

function likeExpression(pattern: string, escapedBy: string): RegExp | undefined {
  if (Array.from(escapedBy).length > 1) return undefined;
  const tokens =
    escapedBy === ''
      ? /\[\^?[^\]]+\]|./gsu
      : new RegExp(`${RegExp.escape(escapedBy)}.|\\[\\^?[^\\]]+\\]|.`, 'gsu');
  const source = pattern.replace(tokens, (token) => {
    if (escapedBy !== '' && token.startsWith(escapedBy) && token.length > escapedBy.length) {
      return RegExp.escape(token.slice(escapedBy.length));
    }
    if (token === '%') return '.*';
    if (token === '_') return '.';
    return token.length > 1 && token.startsWith('[') ? characterSet(token) : RegExp.escape(token);
  });
  try {
    return new RegExp(`^${source}$`, 'su');
  } catch {
    return undefined;
  }
}

function characterSet(token: string): string {
  const negated = token.startsWith('[^');
  const members = token.slice(negated ? 2 : 1, -1).replace(/[\\\]^[]/g, '\\$&');
  return `[${negated ? '^' : ''}${members}]`;
}

function cached(key: string, make: () => RegExp | undefined): RegExp | undefined {
  if (cache.has(key)) return cache.get(key);
  if (cache.size >= MAX_CACHED) cache.clear();
  const made = make();
  cache.set(key, made);
  return made;
}
