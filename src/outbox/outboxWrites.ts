import { type DocumentStore, maxOperations } from '../documents/documentStore.ts';
import { StoreAway } from '../documents/storeAway.ts';
import { readableDocuments } from '../documents/storedDocuments.ts';
import { patience, writeUntilClear } from '../documents/writeUntilClear.ts';
import type { Clock } from '../platform/clock.ts';
import { dispatchPatch, outboxMessageSchema } from './outboxMessage.ts';
import type { Dispatched, OutboxStore } from './outboxStore.ts';

/** The writes of an outbox store, on whatever keeps the documents. */
export function outboxWrites(store: { documents: DocumentStore; clock: Clock }): Pick<OutboxStore, 'mark'> {
  return { mark: (dispatched) => markDispatched(store, dispatched) };
}

/** Records what became of messages, many to a transaction. */
async function markDispatched(
  store: { documents: DocumentStore; clock: Clock },
  dispatched: readonly Dispatched[],
): Promise<{ unclear: number }> {
  const marks = oneOfEach(dispatched).flatMap(({ message, decision }) => {
    const patch = dispatchPatch(message, decision);
    return patch === undefined ? [] : [{ message, patch }];
  });
  const shards = [...Map.groupBy(marks, ({ message }) => message.shard)];
  const unclear = await Promise.all(shards.map(([shard, group]) => markAll(shard, group)));
  return { unclear: unclear.reduce((sum, count) => sum + count, 0) };

  async function markAll(shard: string, group: typeof marks): Promise<number> {
    let open = 0;
    for (let start = 0; start < group.length; start += maxOperations) {
      open += await markSome(shard, group.slice(start, start + maxOperations));
    }
    return open;
  }

  /** Messages that somebody else has marked meanwhile are dropped: they need no mark of ours. */
  async function markSome(shard: string, items: typeof marks): Promise<number> {
    try {
      const written = await writeUntilClear(
        store,
        {
          partition: shard,
          items,
          plan: (some) => some.map(({ patch }) => patch),
          reread: async (some) => {
            const documents = await store.documents.read(
              shard,
              some.map(({ message }) => message.id),
            );
            return readableDocuments(documents, outboxMessageSchema, 'outboxMessage');
          },
          keep(some, stored) {
            const byId = new Map(stored.map((message) => [message.id, message]));
            return some.filter(({ message: { id, attempts } }) => {
              const now = byId.get(id);
              return now?.status === 'pending' && now.attempts === attempts;
            });
          },
        },
        patience.brief,
      );
      return written.kind === 'unclear' ? written.items.length : 0;
    } catch (error) {
      if (error instanceof StoreAway) return items.length;
      throw error;
    }
  }
}

/**
 * A message can be in one round twice: from the instance that wrote it, and from its sweeper. In one transaction two marks
 * of it would refuse each other, so one is left out; if one of the two was sent, that one counts.
 */
function oneOfEach(dispatched: readonly Dispatched[]): Dispatched[] {
  const isSent = ({ decision }: Dispatched) => decision.kind === 'dispatched';
  const others = dispatched.filter((one) => !isSent(one));
  return [...new Map([...others, ...dispatched.filter(isSent)].map((one) => [one.message.id, one])).values()];
}
