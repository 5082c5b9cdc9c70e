import { nearestName } from './nearestName.ts';

/** In words: that a name is not known, what it may have been meant to be, and which there are. */
export function unknownName(what: 'field' | 'column', name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return `unknown ${what}: ${nearest === undefined ? `expected only ${known.join(', ')}` : `did you mean ${nearest}?`}`;
}

/** The message of a field: what was expected, and what was given. */
export function expecting(what: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? `is missing: expected ${what}` : `expected ${what}, not ${shown(input)}`;
}

/** A value as JSON, shortened. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 60)}…` : json;
}
