import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { cosmosOutboxStore } from '../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import { createDispatcher } from '../../packages/jobs/src/outbox/dispatcher.ts';
import type { OutboxMessage } from '../../packages/jobs/src/outbox/outboxMessage.ts';
import { sweepOutbox } from '../../packages/jobs/src/outbox/sweepOutbox.ts';
import { anInstance } from '../support/anInstance.ts';
import {
  allPages,
  aRequest,
  bodyOf,
  type OpsForTests,
  opsForTests,
  principal,
} from '../support/opsForTests.ts';
import { storeInBatches } from '../support/storeInBatches.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

function aMessage(changes: Partial<OutboxMessage> & { id: string }): OutboxMessage {
  return {
    shard: '01',
    type: 'outboxMessage',
    status: 'pending',
    createdAt: '2026-01-01T11:00:00.000Z',
    nextAttemptAt: '2026-01-01T11:00:10.000Z',
    attempts: 0,
    destination: 'work-items',
    body: [{ n: 1 }],
    ...changes,
  };
}

const parked = (id: string): OutboxMessage => {
  const { nextAttemptAt: _, ...message } = aMessage({
    id,
    status: 'parked',
    attempts: 10,
    lastError: 'full',
  });
  return message;
};

async function store({ cosmos }: OpsForTests, messages: readonly OutboxMessage[]) {
  await storeInBatches(cosmos.containers.invoices, messages);
}

describe('GET ops/outbox', () => {
  const second = (n: number) => new Date(Date.parse('2026-01-01T00:00:00.000Z') + n * 1_000).toISOString();

  test('lists waiting messages longest waiting first, and others newest first', async () => {
    await using own = await opsForTests();
    const times = [3, 1, 4, 2].map((n) => ({ n, createdAt: second(n), shard: `0${n}` }));
    await store(own, [
      ...times.map(({ n, ...at }) => aMessage({ id: `p${n}`, ...at })),
      ...times.map(({ n, ...at }) => aMessage({ id: `d${n}`, status: 'dispatched', ...at })),
      { ...parked('x2'), createdAt: second(2) },
      { ...parked('x1'), createdAt: second(1) },
    ]);
    await own.store({ id: 'an-invoice', createdAt: second(2) });
    const ids = async (query: Record<string, string>) =>
      (await allPages(own.api.listOutbox, 'messages', query)).flat().map(({ id }) => id);
    expect(await ids({ status: 'pending' })).toEqual(['p1', 'p2', 'p3', 'p4']);
    expect(await ids({ status: 'parked' })).toEqual(['x1', 'x2']);
    expect(await ids({ status: 'dispatched' })).toEqual(['d4', 'd3', 'd2', 'd1']);
    const all = await ids({});
    expect(all).toHaveLength(10);
    expect(new Set(all.slice(0, 2))).toEqual(new Set(['p4', 'd4']));
  });

  test.each(['pending', 'dispatched'] as const)(
    'pages through all %s messages, each once, even if many were written at the same moment',
    async (status) => {
      await using own = await opsForTests();
      const wanted = Array.from({ length: 250 }, (_, n) =>
        aMessage({ id: `m${n}`, shard: `0${n % 4}`, status, createdAt: second(n < 20 ? n : 20 + (n % 2)) }),
      );
      await store(own, wanted);
      const pages = await allPages(own.api.listOutbox, 'messages', { status });
      expect(pages.map((page) => page.length)).toEqual([100, 100, 50]);
      expect(new Set(pages.flat().map(({ id }) => id))).toEqual(new Set(wanted.map(({ id }) => id)));
      const times = pages.flat().map(({ createdAt }) => createdAt as string);
      expect(times).toEqual(status === 'pending' ? times.toSorted() : times.toSorted().reverse());
    },
  );

  test('a message that cannot be read does not hide the others', async () => {
    await using own = await opsForTests();
    const bad = { ...parked('bad'), attempts: 'ten' } as unknown as OutboxMessage;
    await store(own, [parked('good-1'), bad, parked('good-2')]);
    const pages = await allPages(own.api.listOutbox, 'messages', { status: 'parked' });
    expect(pages.flat().map(({ id }) => id)).toEqual(['good-1', 'good-2']);
  });

  test('shows a message with its error and without its body', async () => {
    await store(ops, [parked('shown')]);
    const pages = await allPages(ops.api.listOutbox, 'messages', { status: 'parked' });
    expect(pages.flat().find(({ id }) => id === 'shown')).toEqual({
      discarded: null,
      id: 'shown',
      shard: '01',
      destination: 'work-items',
      status: 'parked',
      createdAt: '2026-01-01T11:00:00.000Z',
      notBefore: null,
      nextAttemptAt: null,
      attempts: 10,
      lastError: 'full',
    });
  });

  test.each([
    ['status', 'sent', 'expected one of pending, dispatched, parked, got "sent"'],
    ['continuation', 'nonsense', 'expected what an earlier page gave as "continuation"'],
    ['continuation', Buffer.from('["x",1]').toString('base64url'), 'expected what an earlier page gave'],
  ])('a bad %s (%s) is a problem that names it', async (field, value, error) => {
    const response = await ops.api.listOutbox(aRequest({ query: { [field]: value } }));
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field, error: expect.stringContaining(error) }] });
  });
});

describe('POST ops/outbox/{id}/redrive', () => {
  const redrive = (id: string, body?: unknown) =>
    ops.api.redriveOutbox(aRequest({ method: 'POST', params: { id }, body, headers: principal }));

  test('makes a parked message pending again, for the sweeper to dispatch, and is audited', async () => {
    await store(ops, [{ ...parked('again'), shard: '03' }]);
    expect(bodyOf(await redrive('again', { reason: 'queue mended' }))).toMatchObject({
      id: 'again',
      shard: '03',
      status: 'pending',
      attempts: 0,
      nextAttemptAt: '2026-01-01T12:00:00.000Z',
    });
    const sent: OutboxMessage[] = [];
    const { clock, telemetry } = ops;
    const container = ops.cosmos.containers.invoices;
    const send = async (messages: readonly OutboxMessage[]) => {
      sent.push(...messages);
      return messages.map(() => ({ kind: 'sent' as const }));
    };
    const destinations = { 'payment-commands': send, 'work-items': send };
    const outbox = cosmosOutboxStore(container);
    const instance = anInstance({ clock, telemetry });
    const dispatcher = createDispatcher({ documents: cosmosDocuments(container), destinations, instance });
    await sweepOutbox({ outbox, dispatcher, instance }, { assertHeld() {} });
    expect(sent).toMatchObject([{ id: 'again', body: [{ n: 1 }] }]);
    expect((await container.item('again', '03').read()).resource).toMatchObject({ status: 'dispatched' });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        actor: 'ada@example.com',
        action: 'redrive outbox message',
        target: 'again',
        detail: { destination: 'work-items', reason: 'queue mended' },
      }),
    );
  });

  test.each(['pending', 'dispatched'] as const)('a %s message is a conflict', async (status) => {
    const id = `not-${status}`;
    await store(ops, [aMessage({ id, status })]);
    const audits = (await ops.audited()).length;
    const response = await redrive(id);
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining(`is ${status}`) });
    expect(await ops.audited()).toHaveLength(audits);
  });

  test('of two at the same time, one redrives', async () => {
    await store(ops, [parked('twice')]);
    const answers = await Promise.all([redrive('twice'), redrive('twice')]);
    expect(answers.map(({ status }) => String(status ?? 200)).toSorted()).toEqual(['200', '409']);
    expect((await ops.audited()).filter(({ target }) => target === 'twice')).toHaveLength(1);
  });

  test('an id that is not a message’s is 404, even if it is an invoice’s', async () => {
    await ops.store({ id: 'invoice-here' });
    expect((await redrive('nobody')).status).toBe(404);
    expect((await redrive('invoice-here')).status).toBe(404);
  });

  test('a bad body is a problem', async () => {
    const response = await redrive('shown', { reason: '' });
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'reason' }] });
  });
});
