import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { AuditTrail } from '../../src/ops/audit.ts';
import type { DeadLetterSource } from '../../src/ops/deadLetters.ts';
import { listDeadLetters, redriveDeadLetters } from '../../src/ops/deadLettersApi.ts';
import { poisonSource } from '../../src/ops/poisonSource.ts';
import { serviceBusDeadLetters } from '../../src/ops/serviceBusDeadLetters.ts';
import { sendToQueue } from '../../src/outbox/storageQueueDestination.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { cosmosPoisonStore } from '../../src/workItems/cosmosPoisonStore.ts';
import { poisonItems } from '../../src/workItems/poison.ts';
import { defineStage } from '../../src/workItems/workItem.ts';
import { aRequest, bodyOf } from '../support/opsForTests.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { type ServiceBusForTests, serviceBusForTests } from '../support/serviceBusForTests.ts';

const stamp = defineStage({
  name: 'stamp',
  input: z.strictObject({ text: z.string() }),
  handle: async () => ({}),
});
const redriven = (source: DeadLetterSource, ...ids: string[]) =>
  Array.fromAsync(source.redrive(new Set(ids)));
const item = (resourceId: string) => ({ resourceId, stage: 'stamp', input: { text: 'ü' } });

/** The caller, as opsApi names them. */
const actor = 'function key';

describe('poison work items', () => {
  let cosmos: PayonceCosmos;
  beforeAll(async () => {
    cosmos = await payonceCosmos();
  });
  afterAll(() => cosmos[Symbol.asyncDispose]());

  async function poison() {
    const items = poisonItems({
      store: cosmosPoisonStore(cosmos.containers.workItems),
      stages: [stamp],
      sendAgain: async () => {},
      putBack: async () => {},
      clock: systemClock,
    });
    const queue = QueueServiceClient.fromConnectionString(inject('azurite')).getQueueClient(
      `poison-${crypto.randomUUID()}`,
    );
    await queue.create();
    const received = async () => {
      const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
      return receivedMessageItems.map(({ messageText }) =>
        JSON.parse(Buffer.from(messageText, 'base64').toString()),
      );
    };
    const source = poisonSource(items, { name: queue.name, send: (text) => sendToQueue(queue, text) });
    return { items, source, received };
  }
  const find = async (source: DeadLetterSource, id: string) =>
    (await source.list(100)).find((letter) => letter.id === id);

  test('a message that cannot be read is recorded with what is wrong with it', async () => {
    const { items, source } = await poison();
    expect(await items.record('no json', 'm1')).toContain('not a work item');
    expect(await items.record({ ...item('a'), stage: 'stmap' }, 'm2')).toContain('expected one of stamp');
    expect(await find(source, 'poison:m1')).toMatchObject({
      body: 'no json',
      reason: expect.stringContaining('not a work item'),
    });
    expect(await find(source, 'poison:m2')).toMatchObject({
      body: JSON.stringify({ ...item('a'), stage: 'stmap' }),
    });
  });

  test('a message that failed every time is recorded with its last error', async () => {
    const { items, source } = await poison();
    await items.noteFailure(item('b'), new Error('first'));
    await items.noteFailure(item('b'), new Error('out of ink'));
    await items.record(item('b'), 'm3');
    expect(await find(source, 'poison:m3')).toMatchObject({
      reason: 'every delivery failed; the last: out of ink',
    });
  });

  test('a poison message that comes twice is recorded once', async () => {
    const { items, source } = await poison();
    await items.record(item('c'), 'm4');
    await items.record(item('c'), 'm4');
    expect((await source.list(100)).filter(({ id }) => id === 'poison:m4')).toHaveLength(1);
  });

  test('a redriven message goes back unchanged, once, and leaves the list', async () => {
    const { items, source, received } = await poison();
    await items.record(item('d'), 'm5');
    expect(await redriven(source, 'poison:m5', 'poison:none')).toEqual(['poison:m5']);
    expect(await received()).toEqual([item('d')]);
    expect(await find(source, 'poison:m5')).toBeUndefined();
    expect(await redriven(source, 'poison:m5')).toEqual([]);
    expect(await received()).toEqual([]);
  });

  test('a redriven message starts without its history of retries', async () => {
    const { items, source, received } = await poison();
    const retry = { tries: 100, since: '2026-01-01T00:00:00.000Z' };
    await items.record({ ...item('e'), retry }, 'm6');
    await items.record('no json', 'm7');
    expect(await redriven(source, 'poison:m6')).toEqual(['poison:m6']);
    expect(await received()).toEqual([item('e')]);
  });
});

describe('the dead-letter queue of Service Bus', () => {
  let bus: ServiceBusForTests;
  let source: DeadLetterSource;
  beforeAll(async () => {
    bus = await serviceBusForTests({
      commands: { RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: 'PT10M' },
    });
    source = serviceBusDeadLetters(bus.client, 'commands');
    const sender = bus.client.createSender('commands');
    for (const messageId of ['a', 'b', 'c']) await sender.sendMessages({ messageId, body: { n: messageId } });
    const receiver = bus.client.createReceiver('commands');
    const messages = await receiver.receiveMessages(3, { maxWaitTimeInMs: 2_000 });
    for (const message of messages) {
      const deadLetterErrorDescription = 'shard: two hex digits';
      await receiver.deadLetterMessage(message, {
        deadLetterReason: 'NotABatch',
        deadLetterErrorDescription,
      });
    }
    await receiver.close();
  });
  afterAll(() => bus[Symbol.asyncDispose]());

  test('is listed with reasons; listing changes nothing', async () => {
    const letters = await source.list(10);
    expect(letters.map(({ id, reason }) => [id, reason])).toEqual(
      ['a', 'b', 'c'].map((id) => [id, 'NotABatch: shard: two hex digits']),
    );
    expect(letters[0]).toMatchObject({ source: 'commands', body: { n: 'a' }, at: expect.any(String) });
    expect(await bus.stats('commands')).toMatchObject({ deadLettered: 3, active: 0 });
  });

  test('the requested messages go back to the queue, past duplicate detection; the rest stays', async () => {
    expect(await redriven(source, 'b')).toEqual(['b']);
    expect(await bus.stats('commands')).toMatchObject({ deadLettered: 2, active: 1, duplicatesDropped: 0 });
    expect((await source.list(10)).map(({ id }) => id)).toEqual(['a', 'c']);
  });
});

describe('the calls', () => {
  const source = (name: string, ids: string[]): DeadLetterSource => ({
    name,
    list: async () => ids.map((id) => ({ id, source: name, reason: 'r', at: null, body: 'b' })),
    owns: (id) => ids.includes(id),
    async *redrive(wanted) {
      yield* ids.filter((id) => wanted.has(id));
    },
  });
  const audited: object[] = [];
  const auditTrail = (append: AuditTrail['append']): AuditTrail => ({
    append,
    list: () => Promise.reject(new Error('not read here')),
  });
  const parts = {
    deadLetters: [source('q1', ['a', 'b']), source('q2', ['c'])],
    audit: auditTrail(async (entry) => void audited.push(entry)),
  };

  test('GET lists all sources', async () => {
    const body = bodyOf(await listDeadLetters(parts)) as { deadLetters: { id: string }[] };
    expect(body.deadLetters.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('POST redrives by id, names the ids it did not find, and is audited', async () => {
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'c', 'x'] } });
    expect(bodyOf(await redriveDeadLetters(request, { ...parts, actor }))).toEqual({
      redriven: ['a', 'c'],
      notFound: ['x'],
    });
    expect(audited).toEqual(
      ['a', 'c'].map((target) => ({ actor: 'function key', action: 'redrive dead letter', target })),
    );
  });

  test('messages sent before a failure are audited, and the answer names them and the failure', async () => {
    audited.length = 0;
    const failing: DeadLetterSource = {
      ...source('q3', ['a', 'b']),
      async *redrive() {
        yield 'a';
        throw new Error('the broker is away');
      },
    };
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'b', 'c'] } });
    const response = await redriveDeadLetters(request, {
      ...parts,
      actor,
      deadLetters: [failing, source('q2', ['c'])],
    });
    expect(response.status).toBe(503);
    expect(bodyOf(response)).toMatchObject({
      detail: 'sent again: a, c; then: q3: the broker is away',
    });
    expect(audited).toHaveLength(2);
  });

  test('nothing more is sent once auditing fails', async () => {
    const sent: string[] = [];
    const counted: DeadLetterSource = {
      ...source('q4', ['a', 'b']),
      async *redrive() {
        for (const id of ['a', 'b']) {
          sent.push(id);
          yield id;
        }
      },
    };
    const audit = auditTrail(() => Promise.reject(new Error('the store is away')));
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'b'] } });
    const response = await redriveDeadLetters(request, { deadLetters: [counted], audit, actor });
    expect(response.status).toBe(503);
    expect(sent).toEqual(['a']);
  });

  test.each([[undefined], [{}], [{ ids: [] }], [{ ids: 'a' }], [{ ids: ['a'], all: true }]])(
    '%j is a problem',
    async (body) => {
      const response = await redriveDeadLetters(aRequest({ method: 'POST', body }), { ...parts, actor });
      expect(response.status).toBe(400);
    },
  );
});
