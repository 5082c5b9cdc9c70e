import type { Container } from '@azure/cosmos';
import { patchBody, queryAll, queryCount, unlessChanged } from '../documents/cosmosDocuments.ts';
import { queryOldest, whereAll, pageByTime } from '../documents/cosmosPages.ts';
import type { Patch } from '../documents/documentStore.ts';
import { readableDocument, readableDocuments } from '../documents/storedDocuments.ts';
import type { OnUnreadable } from '../documents/unreadable.ts';
import { type OutboxEntry, outboxEntrySchema, outboxMessageSchema } from './outboxMessage.ts';
import { discardPatch, notParked, type OutboxFilter, type OutboxStore, redrivePatch } from './outboxStore.ts';

/** Bodies are large, and no list shows them. */
const entryProperties = Object.keys(outboxEntrySchema.shape)
  .map((name) => `c.${name}`)
  .join(', ');

/**
 * The outbox messages in a Cosmos container, in which they stand beside the documents that they announce. Whatever its
 * partition key is called, a message knows its value as `shard`. Messages that were dispatched expire after a week if the
 * container has TTL on (`defaultTtl` -1). `onUnreadable` is told of messages that are passed over because they are broken.
 */
export function cosmosOutboxStore(
  container: Container,
  { onUnreadable }: { onUnreadable?: OnUnreadable } = {},
): OutboxStore {
  return {
    async due({ now, limit, shard, except = { shards: [], destinations: [] } }) {
      const leftOut = [
        ...(except.shards.length === 0 ? [] : ['NOT ARRAY_CONTAINS(@shards, c.shard)']),
        ...(except.destinations.length === 0 ? [] : ['NOT ARRAY_CONTAINS(@destinations, c.destination)']),
      ];
      const conditions = [`c.type = 'outboxMessage'`, 'c.nextAttemptAt <= @now', ...leftOut].join(' AND ');
      for (let offset = 0; ; offset += limit) {
        const found = await queryAll(
          container,
          {
            query: `SELECT * FROM c WHERE ${conditions} ORDER BY c.nextAttemptAt OFFSET @offset LIMIT @limit`,
            parameters: [
              { name: '@now', value: now },
              { name: '@offset', value: offset },
              { name: '@limit', value: limit },
              { name: '@shards', value: [...except.shards] },
              { name: '@destinations', value: [...except.destinations] },
            ],
          },
          shard,
        );
        const messages = readableDocuments(found, outboxMessageSchema, 'outboxMessage', onUnreadable);
        const more = found.length === limit;
        // A whole page of unreadable ones would come again and again, and hide what is behind it.
        if (messages.length > 0 || !more) return { messages, more };
      }
    },

    // A message that cannot be read is left out: the sweeper reports it.
    async list(query) {
      const order = query.status === 'pending' || query.status === 'parked' ? 'ASC' : 'DESC';
      const list = { ...askedFor(query), select: entryProperties, by: 'createdAt', order } as const;
      const { items, ...rest } = await pageByTime(container, list, query);
      return { items: readableDocuments(items, outboxEntrySchema, 'outboxMessage'), ...rest };
    },

    count(filter) {
      const { where, parameters } = askedFor(filter);
      return queryCount(container, { query: `SELECT VALUE COUNT(1) FROM c WHERE ${where}`, parameters });
    },

    redrive: (id, at, runId) => changeParked(id, 'redriven', redrivePatch(id, at, runId)),
    discard: (id, why) => changeParked(id, 'discarded', discardPatch(id, why)),

    oldestPending: () =>
      queryOldest(
        container,
        // Only what is pending has a next attempt; its status it shares with millions of other documents.
        `SELECT VALUE MIN(c.notBefore ?? c.createdAt) FROM c WHERE c.type = 'outboxMessage' AND c.nextAttemptAt > '' AND c.status = 'pending'`,
      ),
  };

  async function changeParked<Done extends string>(id: string, kind: Done, patch: Patch) {
    const message = await find(id);
    if (message?.status !== 'parked') return notParked(message);
    const patched = await unlessChanged(() => container.item(id, message.shard).patch(patchBody(patch)));
    if (patched === undefined) return notParked(await find(id));
    return { kind, message: outboxEntrySchema.parse(patched.resource) };
  }

  /** The caller has an id from a list and does not know the partition, so all are asked. Ids are unique across them. */
  async function find(id: string): Promise<OutboxEntry | undefined> {
    const [found] = await queryAll(container, {
      query: `SELECT ${entryProperties} FROM c WHERE c.id = @id AND c.type = 'outboxMessage'`,
      parameters: [{ name: '@id', value: id }],
    });
    return found === undefined ? undefined : readableDocument(found, outboxEntrySchema, 'outboxMessage');
  }
}

/** The messages that a filter lets through. */
function askedFor({ status, destination, error, before, after }: OutboxFilter) {
  return whereAll('outboxMessage', [
    { condition: 'c.status = @status', name: '@status', value: status },
    { condition: 'c.destination = @destination', name: '@destination', value: destination },
    { condition: 'CONTAINS(c.lastError, @error, true)', name: '@error', value: error },
    { condition: 'c.createdAt < @before', name: '@before', value: before },
    { condition: 'c.createdAt >= @after', name: '@after', value: after },
  ]);
}
