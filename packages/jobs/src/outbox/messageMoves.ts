import { exponentialBackoff } from '@payonce/leases/backoff';
import { type Clock, systemClock } from '@payonce/leases/clock';
import { type DocumentStore, maxOperations, type Patch, StoreAway } from '../documents/documentStore.ts';
import { formatVersion, readableDocuments } from '../documents/storedDocuments.ts';
import { patience, writeUntilClear } from '../documents/writeUntilClear.ts';
import { activeTrace } from '../tracing.ts';
import {
  dispatchedTtl,
  type NewOutboxMessage,
  type OutboxMessage,
  outboxMessageSchema,
} from './outboxMessage.ts';

/** Time for which the sweeper leaves a new message to the instance that wrote it (ms), which dispatches it at once. */
const inlineDispatchMs = 10_000;

/**
 * A new message, to be created in the transaction of the change that it announces at `now` (ms). It carries the active trace.
 * `shard`: the value of the container's partition key, which belongs among the content as well if it is called differently.
 */
export function newOutboxMessage<Content extends NewOutboxMessage>(
  content: Content,
  now: number = systemClock.now(),
): Content & OutboxMessage {
  return {
    ...activeTrace(),
    ...content,
    type: 'outboxMessage',
    version: formatVersion,
    status: 'pending',
    createdAt: new Date(now).toISOString(),
    nextAttemptAt: new Date(now + inlineDispatchMs).toISOString(),
    attempts: 0,
  };
}

/** Answer of a destination about one message. */
export type SendResult =
  | { kind: 'sent' }
  /** It may work later, however late; it may even have arrived. */
  | { kind: 'failed'; error: string }
  /** The destination rejects this very message, for example because it is too large: no later try would help. */
  | { kind: 'refused'; error: string };

/** Milliseconds: 1 s, 2 s, 4 s … 5 min. */
const backoff = { base: 1_000, cap: 300_000 };

/** Decision on a message after a send. */
export type DispatchDecision =
  | { kind: 'dispatched' }
  | { kind: 'retry'; attempts: number; at: string; error: string }
  | { kind: 'parked'; attempts: number; error: string };

/** Decides by the result of a send at `now` (milliseconds). Pure. */
export function decideDispatch(
  message: { readonly attempts: number },
  result: SendResult,
  now: number,
): DispatchDecision {
  if (result.kind === 'sent') return { kind: 'dispatched' };
  const attempts = message.attempts + 1;
  const { error } = result;
  if (result.kind === 'refused') return { kind: 'parked', attempts, error };
  const at = new Date(now + exponentialBackoff(attempts, backoff)).toISOString();
  return { kind: 'retry', attempts, at, error };
}

/** The write that a decision asks for, unless another was recorded since the read. Only a dispatched message expires. */
export function dispatchPatch(
  { id, attempts }: Pick<OutboxMessage, 'id' | 'attempts'>,
  decision: DispatchDecision,
): Patch {
  const patch: Patch = {
    kind: 'patch',
    id,
    where: [
      { path: 'status', is: '=', value: 'pending' },
      { path: 'attempts', is: '=', value: attempts },
    ],
  };
  switch (decision.kind) {
    case 'dispatched':
      return { ...patch, set: { status: 'dispatched', ttl: dispatchedTtl }, remove: ['nextAttemptAt'] };
    case 'retry': {
      const { at: nextAttemptAt, error: lastError } = decision;
      return { ...patch, set: { attempts: decision.attempts, nextAttemptAt, lastError } };
    }
    case 'parked': {
      const set = { status: 'parked', attempts: decision.attempts, lastError: decision.error };
      return { ...patch, set, remove: ['nextAttemptAt'] };
    }
  }
}

/** A message and the decision after its send. */
export interface Dispatched {
  message: OutboxMessage;
  decision: DispatchDecision;
}

/**
 * Records decisions, many to a transaction, unless somebody else has recorded one since. Does not wait for a store that gives
 * no clear answer: returns for how many it was not clear, which are sent again if they are still pending.
 */
export async function markDispatched(
  store: { documents: DocumentStore; clock: Clock },
  dispatched: readonly Dispatched[],
): Promise<{ unclear: number }> {
  // A message can be sent twice at once, by its writer and by the sweeper, and two marks in one transaction would refuse
  // each other. If one of the two was sent, that one counts.
  const { sent = [], other = [] } = Object.groupBy(dispatched, ({ decision }) =>
    decision.kind === 'dispatched' ? 'sent' : 'other',
  );
  const once = new Map([...other, ...sent].map((one) => [one.message.id, one]));
  const byShard = Map.groupBy(once.values(), ({ message }) => message.shard);
  const transactions = [...byShard].flatMap(([shard, all]) =>
    Array.from({ length: Math.ceil(all.length / maxOperations) }, (_, n) => ({
      shard,
      some: all.slice(n * maxOperations, (n + 1) * maxOperations),
    })),
  );
  const unclear = await Promise.all(transactions.map(mark));
  return { unclear: unclear.reduce((sum, count) => sum + count, 0) };

  /** Messages that somebody else has marked meanwhile are dropped: they need no mark of ours. */
  async function mark({ shard, some }: (typeof transactions)[number]): Promise<number> {
    try {
      const written = await writeUntilClear(
        store,
        {
          partition: shard,
          items: some,
          plan: (items) => items.map(({ message, decision }) => dispatchPatch(message, decision)),
          reread: async (items) => {
            const ids = items.map(({ message }) => message.id);
            const documents = await store.documents.read(shard, ids);
            return readableDocuments(documents, outboxMessageSchema, 'outboxMessage');
          },
          keep(items, stored) {
            const pending = stored.filter(({ status }) => status === 'pending');
            const attemptsOf = new Map(pending.map(({ id, attempts }) => [id, attempts]));
            return items.filter(({ message: { id, attempts } }) => attemptsOf.get(id) === attempts);
          },
        },
        patience.brief,
      );
      return written.kind === 'unclear' ? written.items.length : 0;
    } catch (error) {
      if (error instanceof StoreAway) return some.length;
      throw error;
    }
  }
}
