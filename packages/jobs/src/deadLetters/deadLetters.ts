import { z } from 'zod';
import { isPoisonId, type PoisonItems } from '../workItems/poison.ts';

/** A message that nobody works on any more. */
export interface DeadLetter {
  id: string;
  /** The queue that it was in. */
  source: string;
  reason: string;
  /** ISO 8601. */
  at: string | null;
  body: unknown;
  /** Its place in the order of its source. */
  place: string;
}

/** Reason for throwing messages away, and the person who does it. */
export interface Discarded {
  reason: string;
  by: string;
}

/** Outcome for each requested message. Missing messages are skipped. */
export type Moved =
  /** It was sent again, or is gone for good. */
  | { kind: 'moved'; id: string }
  /** It is still there. `why` says what kept it, and what to do. */
  | { kind: 'left'; id: string; why: string };

/** A queue of dead letters, which can be sent again or thrown away. */
export interface DeadLetterSource {
  name: string;
  /** The first of them, or the first behind a place. Their order does not change. */
  list(limit: number, behind?: string): Promise<DeadLetter[]>;
  /** True if an id can be one of this source: it saves searching the others. */
  owns(id: string): boolean;
  /** Sends those with these ids again, and yields each once it is sent: a later failure undoes nothing. */
  redrive(ids: ReadonlySet<string>): AsyncIterable<Moved>;
  /** Throws those with these ids away, and yields each once it is gone. */
  discard(ids: ReadonlySet<string>, why: Discarded): AsyncIterable<Moved>;
}

/** Narrows a list of dead letters. Absent fields do not matter. */
export interface DeadLetterFilter {
  queue?: string;
  /** Part of the reason, in any case. */
  reason?: string;
  /** A dead letter since before this time, or since this time or later: ISO 8601, UTC, with milliseconds. */
  before?: string;
  after?: string;
}

/** True if a dead letter is one of those asked for. One without a time is of any age. Pure. */
export function matchesLetter(
  letter: DeadLetter,
  { queue, reason, before, after }: DeadLetterFilter,
): boolean {
  const { source, at } = letter;
  return (
    (queue === undefined || source === queue) &&
    (reason === undefined || letter.reason.toLowerCase().includes(reason.toLowerCase())) &&
    (before === undefined || at === null || at < before) &&
    (after === undefined || at === null || at >= after)
  );
}

/** Where a page of all sources ended. */
export const deadLetterPlace = z.object({ source: z.string(), behind: z.string().exactOptional() });

const readAtOnce = 100;

/** All dead letters behind a place, source by source. */
export async function* deadLettersOf(
  sources: readonly DeadLetterSource[],
  { queue }: Pick<DeadLetterFilter, 'queue'>,
  from?: z.infer<typeof deadLetterPlace>,
): AsyncGenerator<DeadLetter> {
  const asked = sources.filter(({ name }) => queue === undefined || name === queue);
  const first = asked.findIndex(({ name }) => name === from?.source);
  for (const source of asked.slice(Math.max(0, first))) {
    let behind = source.name === from?.source ? from.behind : undefined;
    for (;;) {
      const letters = await source.list(readAtOnce, behind);
      yield* letters;
      if (letters.length === 0) break;
      behind = letters.at(-1)?.place;
    }
  }
}

/** Poison messages of a queue, as they are recorded. `send` puts a text back into that queue. */
export function poisonSource(
  poison: PoisonItems,
  { name, send }: { name: string; send: (text: string) => Promise<unknown> },
): DeadLetterSource {
  return {
    name,
    owns: isPoisonId,
    async list(limit, behind) {
      const items = await poison.list(limit, behind);
      return items.map(({ id, reason, at, text: body }) => ({
        id,
        source: name,
        reason,
        at,
        body,
        place: id,
      }));
    },
    async *redrive(ids) {
      for (const item of await poison.find([...ids])) {
        if (await poison.redrive(item, send)) yield { kind: 'moved', id: item.id };
      }
    },
    async *discard(ids, why) {
      for (const item of await poison.find([...ids])) {
        if (await poison.discard(item, why)) yield { kind: 'moved', id: item.id };
      }
    },
  };
}
