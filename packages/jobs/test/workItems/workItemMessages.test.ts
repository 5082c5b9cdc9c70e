import { QueueServiceClient } from '@azure/storage-queue';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import { newOutboxMessage } from '../../src/outbox/messageMoves.ts';
import { storageQueueDestination } from '../../src/outbox/storageQueueDestination.ts';
import { itemsOf, workItemMessages } from '../../src/workItems/workItem.ts';

/** The largest message of a storage queue, in bytes of base64. */
const largest = 65_536;

const item = (resourceId: string, stage = 'stamp', input: Record<string, string> = {}) => ({
  resourceId,
  stage,
  input,
});
const aTrace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const apart = (message: unknown) => itemsOf(message) ?? [message];

const anItem = fc.record({
  resourceId: fc.string({ minLength: 1, maxLength: 20 }),
  stage: fc.constantFrom('stamp', 'ring', 'look up'),
  input: fc.record({ text: fc.string({ unit: 'grapheme', maxLength: 3_000 }) }),
});

describe('the messages of work items', () => {
  test('no item is lost, doubled or changed; each message has one stage and fits into the queue', () => {
    fc.assert(
      fc.property(fc.array(anItem, { maxLength: 60 }), fc.constantFrom(undefined, aTrace), (items, trace) => {
        const messages = workItemMessages(items, trace);
        for (const stage of ['stamp', 'ring', 'look up']) {
          const ofStage = messages
            .flatMap(apart)
            .filter((one) => JSON.stringify(one).includes(`"stage":"${stage}"`));
          expect(ofStage).toMatchObject(items.filter((one) => one.stage === stage));
        }
        for (const message of messages) {
          const stages = apart(message).map((one) => (one as { stage: string }).stage);
          expect(new Set(stages).size).toBe(1);
          const text = Buffer.from(JSON.stringify(message)).toString('base64');
          expect(text.length).toBeLessThanOrEqual(largest);
        }
        expect(workItemMessages(items, trace)).toEqual(messages);
      }),
      { numRuns: 60 },
    );
  });

  test('items of one stage are one message', () => {
    const items = [item('a'), item('b'), item('c')];
    expect(workItemMessages(items)).toEqual([{ items }]);
  });

  test('a traceparent travels once with several items, and in an item that is alone unless it has its own', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const items = [item('a'), item('b')];
    expect(workItemMessages(items, traceparent)).toEqual([{ traceparent, items }]);
    expect(workItemMessages([item('a')], traceparent)).toEqual([{ ...item('a'), traceparent }]);
    const own = { ...item('a'), traceparent: 'its own' };
    expect(workItemMessages([own], traceparent)).toEqual([own]);
    expect(itemsOf({ traceparent, items })).toEqual(items);
  });

  test('an item that is alone travels as it is', () => {
    const items = [item('a'), item('a', 'ring'), item('b')];
    expect(workItemMessages(items)).toEqual([{ items: [item('a'), item('b')] }, item('a', 'ring')]);
    expect(workItemMessages([])).toEqual([]);
  });

  test('an item too large for any message takes no other with it', () => {
    const huge = item('huge', 'stamp', { text: 'x'.repeat(largest) });
    expect(workItemMessages([item('a'), huge, item('b'), item('c')])).toEqual([
      item('a'),
      huge,
      { items: [item('b'), item('c')] },
    ]);
  });

  test.each([
    ['a single item', item('a')],
    ['that of a newer release', { version: formatVersion + 1, items: [item('a')] }],
    ['another form of the same version', { items: 'a, b' }],
    ['no items', { items: [] }],
    ['text', 'items'],
  ])('%s is no message of several items', (_what, message) => {
    expect(itemsOf(message)).toBeUndefined();
  });

  test('those of one settlement are as few messages as the queue takes', async () => {
    const service = QueueServiceClient.fromConnectionString(inject('azurite'));
    const queue = service.getQueueClient(`several-${crypto.randomUUID()}`);
    await queue.create();
    const send = storageQueueDestination(queue, { messagesOf: workItemMessages });
    const items = Array.from({ length: 96 }, (_, n) => item(`inv-${n}`, 'stamp', { text: 'ü'.repeat(500) }));
    const message = newOutboxMessage({ id: 's', shard: '00', destination: 'work-items', body: items }, 0);
    expect(await send([message])).toEqual([{ kind: 'sent' }]);
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    const received = receivedMessageItems.map(
      ({ messageText }) => JSON.parse(Buffer.from(messageText, 'base64').toString()) as unknown,
    );
    expect(received).toHaveLength(3);
    expect(received.flatMap(apart)).toEqual(expect.arrayContaining(items));
    expect(received.flatMap(apart)).toHaveLength(items.length);
  });
});
