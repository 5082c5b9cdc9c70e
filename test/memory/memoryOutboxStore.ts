import { z } from 'zod';
import { type Patch, refusedBecause, StoreAway } from '../../packages/jobs/src/documents/documentStore.ts';
import { continuationAt, placeOf } from '../../packages/jobs/src/documents/pages.ts';
import { readableDocuments } from '../../packages/jobs/src/documents/storedDocuments.ts';
import type { OnUnreadable } from '../../packages/jobs/src/documents/unreadable.ts';
import {
  type OutboxEntry,
  outboxEntrySchema,
  outboxMessageSchema,
} from '../../packages/jobs/src/outbox/outboxMessage.ts';
import {
  discardPatch,
  notParked,
  type OutboxFilter,
  type OutboxStore,
  redrivePatch,
} from '../../packages/jobs/src/outbox/outboxStore.ts';
import { type MemoryDocuments, type StoredDocument, textIn } from './memoryDocuments.ts';

/** Where a page ended: the creation time of its last message, and its place among all documents. */
const placeSchema = z
  .tuple([z.iso.datetime(), z.int()])
  .transform(([createdAt, _rid]) => ({ createdAt, _rid }));

const ofMessages = { type: 'outboxMessage' };

/**
 * An outbox in memory, kept with the documents that its messages are about.
 */
export function memoryOutboxStore(
  documents: MemoryDocuments,
  { onUnreadable }: { onUnreadable?: OnUnreadable } = {},
): OutboxStore {
  return {
    async due({ now, limit, shard, except = { shards: [], destinations: [] } }) {
      const due = await documents.query(
        (document) =>
          typeof document.nextAttemptAt === 'string' &&
          document.nextAttemptAt <= now &&
          !except.shards.includes(textIn(document, 'shard')) &&
          !except.destinations.includes(textIn(document, 'destination')),
        shard,
        { ...ofMessages, status: 'pending' },
      );
      const inOrder = due.toSorted((one, other) => compare(one, other, 'nextAttemptAt'));
      for (let offset = 0; ; offset += limit) {
        const found = inOrder.slice(offset, offset + limit);
        const messages = readableDocuments(found, outboxMessageSchema, 'outboxMessage', onUnreadable);
        const more = found.length === limit;
        if (messages.length > 0 || !more) return { messages, more };
      }
    },

    async list({ continuation, pageSize, ...filter }) {
      const { status } = filter;
      const order = status === 'pending' || status === 'parked' ? 1 : -1;
      const last = continuation === undefined ? undefined : placeOf(placeSchema, continuation);
      const ordered = (
        await documents.query((document) => isAskedFor(document, filter), undefined, ofMessages)
      ).toSorted((one, other) => order * compare(one, other, 'createdAt'));
      const behind = ordered.filter(
        (message) => last === undefined || order * compare(message, last, 'createdAt') > 0,
      );
      const found = behind.slice(0, pageSize);
      const end = found.at(-1);
      return {
        items: readableDocuments(found, outboxEntrySchema, 'outboxMessage'),
        ...(end === undefined || found.length === behind.length
          ? {}
          : { continuation: continuationAt([end.createdAt, end._rid]) }),
      };
    },

    async count(filter) {
      const { status } = filter;
      const kind = { ...ofMessages, ...(status === undefined ? {} : { status }) };
      return (await documents.query((document) => isAskedFor(document, filter), undefined, kind)).length;
    },

    async redrive(id, at, runId) {
      const changed = await changeParked(id, redrivePatch(id, at, runId));
      return changed.kind === 'changed' ? { ...changed, kind: 'redriven' } : changed;
    },

    async discard(id, why) {
      const changed = await changeParked(id, discardPatch(id, why));
      return changed.kind === 'changed' ? { ...changed, kind: 'discarded' } : changed;
    },

    async oldestPending() {
      const pending = await documents.query(() => true, undefined, { ...ofMessages, status: 'pending' });
      return pending
        .map((message) => textIn(message, 'notBefore') || textIn(message, 'createdAt'))
        .toSorted()
        .at(0);
    },
  };

  async function changeParked(id: string, patch: Patch) {
    const message = await find(id);
    if (message === undefined) return { kind: 'notFound' as const };
    if (message.status !== 'parked') return notParked(message);
    const answer = await documents.transact(message.shard, [patch]);
    if (answer.kind === 'uncertain') throw new StoreAway('noAnswer', answer.cause);
    if (answer.kind === 'refused' && answer.codes[0] !== refusedBecause.changed)
      throw new Error(`message ${id} cannot be changed: status ${answer.codes[0]}`);
    const after = await find(id);
    if (after === undefined) return { kind: 'notFound' as const };
    return answer.kind === 'committed' ? { kind: 'changed' as const, message: after } : notParked(after);
  }

  /** Ids are unique across partitions. */
  async function find(id: string): Promise<OutboxEntry | undefined> {
    const [found] = await documents.query((document) => document.id === id, undefined, ofMessages);
    return found === undefined ? undefined : outboxEntrySchema.parse(found);
  }
}

function isAskedFor(
  document: StoredDocument,
  { status, destination, error, before, after }: OutboxFilter,
): boolean {
  const createdAt = textIn(document, 'createdAt');
  return (
    (status === undefined || document.status === status) &&
    (destination === undefined || document.destination === destination) &&
    (error === undefined || textIn(document, 'lastError').toLowerCase().includes(error.toLowerCase())) &&
    (before === undefined || createdAt < before) &&
    (after === undefined || createdAt >= after)
  );
}

/** By a time, and by creation if that is the same. */
function compare(
  one: Pick<StoredDocument, '_rid'> & Record<string, unknown>,
  other: Pick<StoredDocument, '_rid'> & Record<string, unknown>,
  time: 'nextAttemptAt' | 'createdAt',
): number {
  const [at, otherAt] = [textIn(one, time), textIn(other, time)];
  return at === otherAt ? one._rid - other._rid : at < otherAt ? -1 : 1;
}
