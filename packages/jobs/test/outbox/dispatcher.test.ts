import { describe, expect, test } from 'vitest';
import { anInstance } from '../../../../test/support/anInstance.ts';
import type { DocumentStore } from '../../src/documents/documentStore.ts';
import { createDispatcher, type SendMessages } from '../../src/outbox/dispatcher.ts';
import { newOutboxMessage } from '../../src/outbox/messageMoves.ts';
import type { OutboxMessage } from '../../src/outbox/outboxMessage.ts';

function message(id: string, shard = '00'): OutboxMessage {
  return newOutboxMessage({ id, shard, destination: 'payment-commands', body: { batchId: id } }, 0);
}

/** A store that records the transactions marking messages. */
function recordingDocuments() {
  const batches: { shard: string; ids: string[] }[] = [];
  const documents: DocumentStore = {
    async transact(shard, operations) {
      batches.push({
        shard,
        ids: operations.map((operation) => (operation.kind === 'patch' ? operation.id : '')),
      });
      return { kind: 'committed' };
    },
    read: async () => [],
  };
  return { documents, batches };
}

function dispatcherWith(send: SendMessages) {
  const { documents, batches } = recordingDocuments();
  const destinations = { 'payment-commands': send, 'work-items': send };
  return {
    dispatcher: createDispatcher({ documents, destinations, instance: anInstance() }),
    batches,
  };
}

describe('the dispatcher', () => {
  test('messages of one tick go together, and do not wait for one that is still being sent', async () => {
    const sends: string[][] = [];
    const firstSend = Promise.withResolvers<void>();
    const { dispatcher, batches } = dispatcherWith(async (messages) => {
      sends.push(messages.map(({ id }) => id));
      if (sends.length === 1) await firstSend.promise;
      return messages.map(() => ({ kind: 'sent' as const }));
    });
    const first = dispatcher.dispatch(message('a'));
    await new Promise((resolve) => setImmediate(resolve));
    const others = [message('b', '01'), message('c', '02'), message('d', '01')].map((one) =>
      dispatcher.dispatch(one),
    );
    const dispatched = { kind: 'dispatched' };
    expect(await Promise.all(others)).toEqual([dispatched, dispatched, dispatched]);
    firstSend.resolve();
    expect(await first).toEqual(dispatched);
    expect(sends).toEqual([['a'], ['b', 'c', 'd']]);
    expect(batches).toEqual([
      { shard: '01', ids: ['b', 'd'] },
      { shard: '02', ids: ['c'] },
      { shard: '00', ids: ['a'] },
    ]);
  });

  test('a failed message waits for the sweeper; those sent with it do not', async () => {
    const { dispatcher } = dispatcherWith(async (messages) =>
      messages.map(({ id }) =>
        id === 'a' ? { kind: 'failed' as const, error: 'down' } : { kind: 'sent' as const },
      ),
    );
    const [a, b] = await Promise.all([dispatcher.dispatch(message('a')), dispatcher.dispatch(message('b'))]);
    expect(a).toMatchObject({ kind: 'retry', attempts: 1, error: 'down' });
    expect(b).toEqual({ kind: 'dispatched' });
  });
});
