import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { type DeadLetterSource, poisonSource } from '../../packages/jobs/src/deadLetters/deadLetters.ts';
import { serviceBusDeadLetters } from '../../packages/jobs/src/deadLetters/serviceBusDeadLetters.ts';
import { sendToQueue } from '../../packages/jobs/src/outbox/storageQueueDestination.ts';
import { cosmosPoisonStore } from '../../packages/jobs/src/workItems/cosmosPoisonStore.ts';
import { poisonItems } from '../../packages/jobs/src/workItems/poison.ts';
import { defineStage } from '../../packages/jobs/src/workItems/workItem.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import type { AuditTrail } from '../../src/ops/auditTrail.ts';
import { memoryJournal } from '../memory/memoryJournal.ts';
import { idsMoved, moved } from '../support/movedLetters.ts';
import { aRequest, bodyOf, opsWith } from '../support/opsForTests.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { type ServiceBusForTests, serviceBusForTests } from '../support/serviceBusForTests.ts';

const stamp = defineStage({
  name: 'stamp',
  input: z.strictObject({ text: z.string() }),
  handle: async () => ({}),
});
const redriven = (source: DeadLetterSource, ...ids: string[]) => idsMoved(source.redrive(new Set(ids)));
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

  test('a discarded message is gone from the list, once, and its record says who and why', async () => {
    const { items, source, received } = await poison();
    await items.record(item('f'), 'm8');
    const discard = () =>
      idsMoved(source.discard(new Set(['poison:m8', 'poison:none']), { by: 'ada', reason: 'a test' }));
    expect(await discard()).toEqual(['poison:m8']);
    expect(await discard()).toEqual([]);
    expect(await find(source, 'poison:m8')).toBeUndefined();
    expect(await redriven(source, 'poison:m8')).toEqual([]);
    expect(await received()).toEqual([]);
    const { resource } = await cosmos.containers.workItems.item('poison:m8', 'f').read();
    expect(resource).toMatchObject({ status: 'discarded', discarded: { by: 'ada', reason: 'a test' } });
  });

  test('all of them are listed, page by page', async () => {
    const { items, source } = await poison();
    const before = (await source.list(100)).length;
    for (let n = 0; n < 7; n++) await items.record(item(`page-${n}`), `page-${n}`);
    const seen: string[] = [];
    for (let behind: string | undefined; ;) {
      const page = await source.list(3, behind);
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      behind = page.at(-1)?.place;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(before + 7);
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

  test('a page begins behind the last one', async () => {
    const [first] = await source.list(1);
    expect(first?.id).toBe('a');
    expect((await source.list(10, first?.place)).map(({ id }) => id)).toEqual(['c']);
    expect(await source.list(10, (await source.list(10)).at(-1)?.place)).toEqual([]);
  });

  test('a discarded message is gone for good; the rest stays', async () => {
    const why = { by: 'ada', reason: 'a test' };
    expect(await idsMoved(source.discard(new Set(['c', 'none']), why))).toEqual(['c']);
    expect(await bus.stats('commands')).toMatchObject({ deadLettered: 1, active: 1 });
    expect((await source.list(10)).map(({ id }) => id)).toEqual(['a']);
  });
});

describe('the calls', () => {
  const source = (name: string, ids: string[]): DeadLetterSource => ({
    name,
    list: async (limit, behind = '') =>
      ids
        .filter((id) => id > behind)
        .slice(0, limit)
        .map((id, n) => ({
          id,
          source: name,
          reason: n % 2 === 0 ? 'NotABatch' : 'TooOld',
          at: `2026-01-0${1 + (n % 3)}T00:00:00.000Z`,
          body: 'b',
          place: id,
        })),
    owns: (id) => ids.includes(id),
    async *redrive(wanted) {
      yield* moved(ids.filter((id) => wanted.has(id)));
    },
    async *discard(wanted) {
      yield* moved(ids.filter((id) => wanted.has(id)));
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
    const body = bodyOf(await opsWith(parts).listDeadLetters(aRequest())) as {
      deadLetters: { id: string }[];
    };
    expect(body.deadLetters.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(body).toMatchObject({ total: 3, totalIsExact: true, continuation: null });
    expect(body.deadLetters[0]).toEqual({
      id: 'a',
      source: 'q1',
      reason: 'NotABatch',
      at: '2026-01-01T00:00:00.000Z',
      body: 'b',
    });
  });

  test('GET goes through all of them, page by page, and the first page says how many there are', async () => {
    const ids = (queue: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${queue}-${String(n).padStart(4, '0')}`);
    const many = { deadLetters: [source('q1', ids('a', 230)), source('q2', ids('b', 70))] };
    const seen: string[] = [];
    const totals: unknown[] = [];
    let continuation: string | null = null;
    do {
      const query: Record<string, string> = continuation === null ? {} : { continuation };
      const body = bodyOf(await opsWith(many).listDeadLetters(aRequest({ query }))) as {
        deadLetters: { id: string }[];
        total?: number;
        continuation: string | null;
      };
      seen.push(...body.deadLetters.map(({ id }) => id));
      totals.push(body.total);
      ({ continuation } = body);
    } while (continuation !== null);
    expect(seen).toEqual([...ids('a', 230), ...ids('b', 70)]);
    expect(totals).toEqual([300, undefined, undefined]);
  });

  test.each<[Record<string, string>, string[]]>([
    [{ queue: 'q2' }, ['c']],
    [{ reason: 'notab' }, ['a', 'c']],
    [{ before: '2026-01-02T00:00:00Z' }, ['a', 'c']],
    [{ after: '2026-01-02T00:00:00Z', queue: 'q1' }, ['b']],
    [{ reason: 'nothing' }, []],
  ])('GET narrows by %o', async (query, expected) => {
    const body = bodyOf(await opsWith(parts).listDeadLetters(aRequest({ query })));
    const { deadLetters, total } = body as { deadLetters: { id: string }[]; total: number };
    expect(deadLetters.map(({ id }) => id)).toEqual(expected);
    expect(total).toBe(expected.length);
  });

  test.each([
    [{ queue: 'q9' }, 'queue'],
    [{ reason: '' }, 'reason'],
    [{ before: 'yesterday' }, 'before'],
    [{ continuation: 'nonsense' }, 'continuation'],
    [{ age: '1h' }, 'age'],
  ])('GET with %o: 400 that names the field', async (query: Record<string, string>, field) => {
    const response = await opsWith(parts).listDeadLetters(aRequest({ query }));
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field }] });
  });

  test('POST discard throws away by id, and the audit says why', async () => {
    audited.length = 0;
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'c', 'x'], reason: 'a test order' } });
    expect(bodyOf(await opsWith(parts).discardDeadLetters(request))).toEqual({
      discarded: ['a', 'c'],
      notFound: ['x'],
    });
    expect(audited).toEqual(
      [
        ['a', 'q1'],
        ['c', 'q2'],
      ].map(([target, queue]) => ({
        actor,
        action: 'discard dead letter',
        target,
        intent: expect.any(String),
        detail: { queue, reason: 'a test order' },
      })),
    );
    const without = await opsWith(parts).discardDeadLetters(
      aRequest({ method: 'POST', body: { ids: ['a'] } }),
    );
    expect(without.status).toBe(400);
    expect(bodyOf(without)).toMatchObject({ errors: [{ field: 'reason' }] });
    audited.length = 0;
  });

  test('POST redrives by id, names the ids it did not find, and is audited', async () => {
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'c', 'x'] } });
    expect(bodyOf(await opsWith(parts).redriveDeadLetters(request))).toEqual({
      redriven: ['a', 'c'],
      notFound: ['x'],
    });
    expect(audited).toEqual(
      [
        ['a', 'q1'],
        ['c', 'q2'],
      ].map(([target, queue]) => ({
        actor,
        action: 'redrive dead letter',
        target,
        intent: expect.any(String),
        detail: { queue, reason: null },
      })),
    );
  });

  test('what is there, but out of reach, is named with the reason, and not audited', async () => {
    audited.length = 0;
    const locked: DeadLetterSource = {
      ...source('q5', ['a', 'b']),
      async *redrive() {
        yield { kind: 'moved', id: 'a' };
        yield { kind: 'left', id: 'b', why: 'another receiver has it locked' };
      },
    };
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'b', 'x'] } });
    expect(bodyOf(await opsWith({ ...parts, deadLetters: [locked] }).redriveDeadLetters(request))).toEqual({
      redriven: ['a'],
      notFound: ['x'],
      left: [{ id: 'b', why: 'another receiver has it locked' }],
    });
    expect(audited).toEqual([expect.objectContaining({ target: 'a' })]);
    audited.length = 0;
  });

  test('messages sent before a failure are audited, and the answer names them and the failure', async () => {
    audited.length = 0;
    const failing: DeadLetterSource = {
      ...source('q3', ['a', 'b']),
      async *redrive() {
        yield* moved(['a']);
        throw new Error('the broker is away');
      },
    };
    const request = aRequest({ method: 'POST', body: { ids: ['a', 'b', 'c'] } });
    const response = await opsWith({
      ...parts,
      deadLetters: [failing, source('q2', ['c'])],
    }).redriveDeadLetters(request);
    expect(response.status).toBe(503);
    expect(bodyOf(response)).toMatchObject({
      detail: 'sent again: a, c; then: q3: the broker is away',
    });
    expect(audited).toHaveLength(2);
  });

  test('nothing is sent if the journal is away; without the audit trail it is sent, and the journal has it', async () => {
    const sent: string[] = [];
    const counted: DeadLetterSource = {
      ...source('q4', ['a', 'b']),
      async *redrive() {
        for (const id of ['a', 'b']) {
          sent.push(id);
          yield* moved([id]);
        }
      },
    };
    const audit = auditTrail(() => Promise.reject(new Error('the store is away')));
    const journal = memoryJournal();
    const redrive = () =>
      opsWith({ deadLetters: [counted], audit, journal }).redriveDeadLetters(
        aRequest({ method: 'POST', body: { ids: ['a', 'b'] } }),
      );
    journal.away = true;
    expect((await redrive()).status).toBe(503);
    expect(sent).toEqual([]);
    journal.away = false;
    expect((await redrive()).status ?? 200).toBe(200);
    expect(sent).toEqual(['a', 'b']);
    expect(journal.lines).toMatchObject([
      { action: 'redrive dead letter', target: 'a' },
      { action: 'redrive dead letter', target: 'b' },
      { outcome: 200 },
    ]);
  });

  test.each([[undefined], [{}], [{ ids: [] }], [{ ids: 'a' }], [{ ids: ['a'], all: true }]])(
    '%j is a problem',
    async (body) => {
      const response = await opsWith(parts).redriveDeadLetters(aRequest({ method: 'POST', body }));
      expect(response.status).toBe(400);
    },
  );
});
