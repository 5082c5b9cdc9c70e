/** Says that a name is unknown, and lists the known ones. */
export function unknownName(what: 'field' | 'column' | 'parameter', known: readonly string[]): string {
  return `unknown ${what}: expected ${known.length === 0 ? 'none' : `one of ${known.join(', ')}`}`;
}

/** A zod error for a field: what was expected, and what was given. */
export function expecting(what: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? `is missing: expected ${what}` : `expected ${what}, not ${shown(input)}`;
}

/** Characters of a value that an error repeats. */
const longest = 60;

/** A value as JSON, cut to 60 characters, which takes no longer for a large or deeply nested one. */
export function shown(value: unknown): string {
  const json = written(value, longest);
  return json.length > longest ? `${json.slice(0, longest)}…` : json;
}

/** A value as JSON, or only its beginning if that has more than `room` characters. */
function written(value: unknown, room: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room + 1));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value);
  const isArray = Array.isArray(value);
  let json = isArray ? '[' : '{';
  // Not Object.entries: there may be millions.
  for (const key in value) {
    if (json.length > 1) json += ',';
    if (!isArray) json += `${written(key, room - json.length)}:`;
    if (json.length > room) return json;
    json += written(Reflect.get(value, key), room - json.length);
    if (json.length > room) return json;
  }
  return json + (isArray ? ']' : '}');
}
