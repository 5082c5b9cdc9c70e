import type { Moved } from '../../packages/jobs/src/deadLetters/deadLetters.ts';

/** Dead letters that were dealt with, as a source reports them. */
export function* moved(ids: Iterable<string>): Generator<Moved> {
  for (const id of ids) yield { kind: 'moved', id };
}

/** The ids that were dealt with, in order. */
export async function idsMoved(outcomes: AsyncIterable<Moved>): Promise<string[]> {
  const all = await Array.fromAsync(outcomes);
  return all.filter(({ kind }) => kind === 'moved').map(({ id }) => id);
}
