import { leapingClock } from '@payonce/leases/testing';
import { expect } from 'vitest';
import type { Patch } from '../../documents/documentStore.ts';
import type { OnUnreadable, Unreadable } from '../../documents/unreadable.ts';
import { type Dispatched, markDispatched, newOutboxMessage } from '../../outbox/messageMoves.ts';
import type { OutboxMessage } from '../../outbox/outboxMessage.ts';
import type { OutboxStore } from '../../outbox/outboxStore.ts';
import type { DocumentsSubject, OpenDocuments } from '../documents/subject.ts';

/** Makes the outbox of a store of documents. */
export type OutboxOf = (options: { onUnreadable?: OnUnreadable }) => OutboxStore;

/** A store that was opened for one test, with its outbox. */
export interface OpenOutbox extends OpenDocuments {
  readonly outbox: OutboxOf;
  readonly denied: OpenDocuments['denied'] & { readonly outbox: OutboxOf };
}

/** An outbox, as its contract needs it. The partition key of the documents is `shard`. */
export type OutboxSubject = DocumentsSubject<OpenOutbox>;

/** An outbox with another document beside its messages: that one must never matter. */
export async function outboxWorld({ open }: OutboxSubject) {
  const opened = await open();
  const { documents } = opened;
  const clock = leapingClock();
  const now = clock.now();
  const unreadable: Unreadable[] = [];
  const outbox = opened.outbox({ onUnreadable: (found) => void unreadable.push(found) });
  const at = iso(now);
  await create({
    id: 'inv-1',
    shard: '00',
    type: 'order',
    status: 'parked',
    actionableAt: at,
    createdAt: at,
  });

  async function create<D extends { id: string; shard: string }>(document: D): Promise<void> {
    const answer = await documents.transact(document.shard, [{ kind: 'create', document }]);
    expect(answer).toEqual({ kind: 'committed' });
  }

  /** Stores messages that were written just now and are due at once, unless it says otherwise; returns them. */
  async function put(...stored: Partial<OutboxMessage>[]): Promise<OutboxMessage[]> {
    return Array.fromAsync(stored, (changes) => putOne(changes));
  }

  /** Stores one message, as `put` does. */
  async function putOne(changes: Partial<OutboxMessage>): Promise<OutboxMessage> {
    const content = { id: 'm-1', shard: '00', destination: 'orders', body: ['a body'], ...changes };
    const message = { ...newOutboxMessage(content, now), nextAttemptAt: iso(now), ...changes };
    await create(message);
    return message;
  }

  /** As a message is stored, without what the store adds to each document. */
  async function read({ id, shard }: { id: string; shard: string }): Promise<Record<string, unknown>> {
    const [found] = (await documents.read(shard, [id])) as Record<string, unknown>[];
    return Object.fromEntries(Object.entries(found ?? {}).filter(([name]) => !name.startsWith('_')));
  }

  /** Changes a message as somebody else would. */
  const touch = ({ id, shard }: { id: string; shard: string }, set: NonNullable<Patch['set']>) =>
    documents.transact(shard, [{ kind: 'patch', id, set }]);

  const mark = (some: readonly Dispatched[]) => markDispatched({ documents, clock }, some);

  return { ...opened, outbox, mark, clock, now, unreadable, create, put, putOne, read, touch };
}

export function dispatched(message: OutboxMessage): Dispatched {
  return { message, decision: { kind: 'dispatched' } };
}

export function idsOf(messages: readonly { id: string }[]): string[] {
  return messages.map(({ id }) => id);
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
