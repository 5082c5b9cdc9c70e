import { nearestName } from './nearestName.ts';

/** Says that a name is unknown, and suggests the nearest known one or else lists them all. */
export function unknownName(
  what: 'field' | 'column' | 'parameter',
  name: string,
  known: readonly string[],
): string {
  if (known.length === 0) return `unknown ${what}: expected none`;
  const nearest = nearestName(name, known);
  return `unknown ${what}: ${nearest === undefined ? `expected one of ${known.join(', ')}` : `did you mean ${nearest}?`}`;
}

/** A zod error for a field: what was expected, and what was given. */
export function expecting(what: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? `is missing: expected ${what}` : `expected ${what}, not ${shown(input)}`;
}

/** A value as JSON, cut to 60 characters. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 60)}…` : json;
}
