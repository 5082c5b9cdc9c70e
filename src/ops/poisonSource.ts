import { isPoisonId, type PoisonItems } from '../workItems/poison.ts';
import type { DeadLetterSource } from './deadLetters.ts';

/** Poison messages of a queue, as they are recorded. `send` puts a text back into that queue. */
export function poisonSource(
  poison: PoisonItems,
  queue: { name: string; send: (text: string) => Promise<unknown> },
): DeadLetterSource {
  const { name } = queue;
  return {
    name,
    owns: isPoisonId,
    async list(limit, behind) {
      const items = await poison.list(limit, behind);
      return items.map(({ id, reason, at, text }) => ({
        id,
        source: name,
        reason,
        at,
        body: text,
        place: id,
      }));
    },
    async *redrive(ids) {
      for (const item of await poison.find([...ids])) {
        if (await poison.redrive(item, queue.send)) yield { kind: 'moved', id: item.id };
      }
    },
    async *discard(ids, why) {
      for (const item of await poison.find([...ids])) {
        if (await poison.discard(item, why)) yield { kind: 'moved', id: item.id };
      }
    },
  };
}
