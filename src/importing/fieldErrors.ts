/** Says that a name is unknown, and lists the known ones. */
export function unknownName(what: 'field' | 'column' | 'parameter', known: readonly string[]): string {
  return `unknown ${what}: expected ${known.length === 0 ? 'none' : `one of ${known.join(', ')}`}`;
}

/** A zod error for a field: what was expected, and what was given. */
export function expecting(what: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? `is missing: expected ${what}` : `expected ${what}, not ${shown(input)}`;
}

const longest = 60;

/** A value as JSON, cut to 60 characters. Of an array or an object only what it is: either may be deep. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  const json = typeof value === 'string' ? JSON.stringify(value.slice(0, longest + 1)) : String(value);
  return json.length > longest ? `${json.slice(0, longest)}…` : json;
}
