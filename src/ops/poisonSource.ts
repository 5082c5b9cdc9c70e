import { isPoisonId, type PoisonItems } from '../workItems/poison.ts';
import type { DeadLetterSource } from './deadLetters.ts';

const mostRedriven = 1_000;

/** Poison messages of a queue, as they are recorded. `send` puts a text back into that queue. */
export function poisonSource(
  poison: PoisonItems,
  queue: { name: string; send: (text: string) => Promise<unknown> },
): DeadLetterSource {
  const { name } = queue;
  return {
    name,
    owns: isPoisonId,
    async list(limit) {
      const items = await poison.list(limit);
      return items.map(({ id, reason, at, text }) => ({ id, source: name, reason, at, body: text }));
    },
    async *redrive(ids) {
      const wanted = (await poison.list(mostRedriven)).filter(({ id }) => ids.has(id));
      for (const item of wanted) {
        if (await poison.redrive(item, queue.send)) yield item.id;
      }
    },
  };
}
