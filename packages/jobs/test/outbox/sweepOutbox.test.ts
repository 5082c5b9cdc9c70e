import { BulkOperationType } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryDocuments } from '../../../../test/memory/memoryDocuments.ts';
import { memoryOutboxStore } from '../../../../test/memory/memoryOutboxStore.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { recordedTelemetry } from '../../../../test/support/recordedTelemetry.ts';
import { inBatches, storeInBatches } from '../../../../test/support/storeInBatches.ts';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { partMetric } from '../../../leases/src/telemetry.ts';
import { cosmosDocuments } from '../../src/documents/cosmosDocuments.ts';
import type { OnUnreadable } from '../../src/documents/unreadable.ts';
import { cosmosOutboxStore } from '../../src/outbox/cosmosOutboxStore.ts';
import { createDispatcher, type SendMessages } from '../../src/outbox/dispatcher.ts';
import { newOutboxMessage } from '../../src/outbox/messageMoves.ts';
import { type OutboxMessage, outboxMessageSchema } from '../../src/outbox/outboxMessage.ts';
import type { OutboxStore } from '../../src/outbox/outboxStore.ts';
import { sweepOutbox } from '../../src/outbox/sweepOutbox.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const minute = 60_000;
const held = { assertHeld() {} };

/** A sweeper on an outbox in its own shard; `answers.send` is what the destination answers. */
async function outbox(shard: string) {
  const container = cosmos.containers.invoices;
  const clock = virtualClock(Date.parse('2026-01-01T00:00:00.000Z'));
  const telemetry = recordedTelemetry();
  const instance = anInstance({ clock, telemetry });
  const sent: string[] = [];
  const answers = { send: (async (all) => all.map(() => ({ kind: 'sent' }))) as SendMessages };
  const send: SendMessages = async (messages) => {
    sent.push(...messages.map(({ id }) => id));
    return answers.send(messages);
  };
  const dispatcher = () =>
    createDispatcher({
      documents: cosmosDocuments(container),
      destinations: { 'payment-commands': send, 'work-items': send },
      instance,
    });
  return {
    clock,
    telemetry,
    sent,
    answers,
    dispatcher,
    async store(id: string): Promise<OutboxMessage> {
      const content = { id, shard, destination: 'payment-commands' as const, body: { batchId: id } };
      const message = newOutboxMessage(content, clock.now());
      await container.items.create(message);
      return message;
    },
    /** Stores that many, with ids of this beginning. */
    async storeMany(prefix: string, count: number): Promise<void> {
      const messages = Array.from({ length: count }, (_, n) => {
        const id = `${prefix}${n}`;
        const content = { id, shard, destination: 'payment-commands' as const, body: { batchId: id } };
        return newOutboxMessage(content, clock.now());
      });
      await storeInBatches(container, messages);
    },
    async read(id: string) {
      const [document] = await cosmosDocuments(container).read(shard, [id]);
      return outboxMessageSchema.parse(document);
    },
    /** Removes this test's messages: a sweep would send what is due in any shard, so each test cleans up. */
    async clear() {
      const { resources } = await container.items
        .query<{ id: string }>('SELECT c.id FROM c', { partitionKey: shard })
        .fetchAll();
      const deletes = resources.map(({ id }) => ({ operationType: BulkOperationType.Delete, id }));
      await inBatches(container, shard, deletes);
    },
    sweep: (lease = held, onUnreadable: OnUnreadable = () => {}) =>
      sweepOutbox(
        { outbox: cosmosOutboxStore(container, { onUnreadable }), dispatcher: dispatcher(), instance },
        lease,
      ),
    /** A sweep that knows the partitions. */
    sweepOf(partitions: readonly string[], { away, signal }: { away?: string; signal?: AbortSignal } = {}) {
      const store = cosmosOutboxStore(container);
      const due: OutboxStore['due'] = async (query) => {
        // A query over all partitions asks this one, too.
        if (away !== undefined && (query.shard ?? away) === away) throw new Error('it is away');
        return store.due(query);
      };
      const parts = { outbox: { ...store, due }, dispatcher: dispatcher(), partitions, instance };
      return sweepOutbox(parts, held, signal);
    },
  };
}

describe('marking', () => {
  test('a sent message is marked and expires only from then on', async () => {
    const box = await outbox('m0');
    const message = await box.store('sent');
    expect(await box.read('sent')).not.toHaveProperty('ttl');
    expect(await box.dispatcher().dispatch(message)).toEqual({ kind: 'dispatched' });
    const stored = await box.read('sent');
    expect(stored).toMatchObject({ status: 'dispatched', ttl: 7 * 24 * 3600 });
    expect(stored).not.toHaveProperty('nextAttemptAt');
    await box.clear();
  });

  test('a message that could not be sent is kept with its retry time and the error, and does not expire', async () => {
    const box = await outbox('m1');
    box.answers.send = async (all) => all.map(() => ({ kind: 'failed', error: 'the broker is away' }));
    await box.dispatcher().dispatch(await box.store('failed'));
    const stored = await box.read('failed');
    expect(stored).toMatchObject({
      status: 'pending',
      attempts: 1,
      lastError: 'the broker is away',
      nextAttemptAt: new Date(box.clock.now() + 1_000).toISOString(),
    });
    expect(stored).not.toHaveProperty('ttl');
    await box.clear();
  });

  test('a late result does not undo a decision made in the meantime', async () => {
    const box = await outbox('m3');
    const message = await box.store('late');
    box.answers.send = async (all) => {
      await cosmos.containers.invoices
        .item('late', 'm3')
        .patch([{ op: 'set', path: '/status', value: 'dispatched' }]);
      return all.map(() => ({ kind: 'refused', error: 'too late' }));
    };
    await box.dispatcher().dispatch(message);
    expect(await box.read('late')).toMatchObject({ status: 'dispatched', attempts: 0 });
    await box.clear();
  });

  test('a message marked by another process in the meantime does not block marking the others', async () => {
    const box = await outbox('m2');
    const [first, second] = [await box.store('marked'), await box.store('unmarked')];
    box.answers.send = async (all) => {
      await cosmos.containers.invoices
        .item('marked', 'm2')
        .patch([{ op: 'set', path: '/status', value: 'dispatched' }]);
      return all.map(() => ({ kind: 'sent' }));
    };
    const dispatcher = box.dispatcher();
    await Promise.all([dispatcher.dispatch(first), dispatcher.dispatch(second)]);
    expect(await box.read('unmarked')).toMatchObject({ status: 'dispatched' });
    await box.clear();
  });
});

describe('sweepOutbox', () => {
  test('a message stored but never sent is sent once its writer has had time to send it', async () => {
    const box = await outbox('s0');
    await box.store('orphan');
    expect(await box.sweep()).toEqual({ dispatched: 0, retried: 0, parked: 0, failed: [] });
    await box.clock.advance(11_000);
    expect(await box.sweep()).toEqual({ dispatched: 1, retried: 0, parked: 0, failed: [] });
    expect(await box.read('orphan')).toMatchObject({ status: 'dispatched' });
    expect(box.telemetry.values(partMetric.outboxOldestMs)).toContain(11_000);
    expect(await box.sweep()).toEqual({ dispatched: 0, retried: 0, parked: 0, failed: [] });
    expect(box.sent).toEqual(['orphan']);
    await box.clear();
  });

  test('the age of the oldest counts from its creation, even while it waits for a retry', async () => {
    const box = await outbox('s10');
    box.answers.send = async (all) => all.map(() => ({ kind: 'failed', error: 'the broker is away' }));
    await box.store('failing');
    for (let sweeps = 0; sweeps < 8; sweeps++) {
      await box.clock.advance(30_000);
      await box.sweep();
    }
    expect(box.telemetry.values(partMetric.outboxOldestMs)).toEqual(
      Array.from({ length: 8 }, (_, n) => 30_000 * (n + 1)),
    );
    await box.clear();
  });

  test('the age of a redriven message counts from its redrive', async () => {
    const box = await outbox('s9');
    const written = newOutboxMessage(
      { id: 'redriven', shard: 's9', destination: 'work-items', body: [] },
      box.clock.now(),
    );
    await box.clock.advance(90_000);
    const at = new Date(box.clock.now()).toISOString();
    await cosmos.containers.invoices.items.create({ ...written, nextAttemptAt: at, notBefore: at });
    await box.clock.advance(5_000);
    expect(await box.sweep()).toMatchObject({ dispatched: 1 });
    expect(box.telemetry.values(partMetric.outboxOldestMs)).toEqual([5_000]);
    expect(box.telemetry.values(partMetric.outboxLagMs)).toEqual([5_000]);
    await box.clear();
  });

  test('a dispatcher that dies between the send and the mark: the message is sent again', async () => {
    const box = await outbox('s1');
    const message = await box.store('twice');
    await cosmos.fault({ kind: '503', count: 1, filter: { operation: 'batch', partitionKey: 's1' } });
    await box.dispatcher().dispatch(message);
    expect(box.telemetry.values(partMetric.outboxMarkFailed)).toHaveLength(1);
    expect(await box.read('twice')).toMatchObject({ status: 'pending' });
    await box.clock.advance(minute);
    await box.sweep();
    expect(box.sent).toEqual(['twice', 'twice']);
    expect(await box.read('twice')).toMatchObject({ status: 'dispatched' });
    await box.clear();
  });

  test('a broker that is away for 30 hours: tried every five minutes, never parked, sent when it is back', async () => {
    const clock = virtualClock(Date.parse('2026-01-01T00:00:00.000Z'));
    const instance = anInstance({ clock });
    const documents = memoryDocuments({ now: () => clock.now() });
    const store = memoryOutboxStore(documents);
    const content = { id: 'patient', shard: 's2', destination: 'work-items' as const, body: {} };
    const document = { ...newOutboxMessage(content, clock.now()) };
    await documents.transact('s2', [{ kind: 'create', document }]);
    let tries = 0;
    let send: SendMessages = async (all) => all.map(() => ({ kind: 'failed', error: `try ${++tries}` }));
    const destinations = { 'work-items': (...sending: Parameters<SendMessages>) => send(...sending) };
    const sweep = async () => {
      await clock.advance(5 * minute);
      const dispatcher = createDispatcher({ documents, destinations, instance });
      return sweepOutbox({ outbox: store, dispatcher, instance }, held);
    };
    for (let sweeps = 0; sweeps < 360; sweeps++) await sweep();
    expect(tries).toBeGreaterThan(300);
    expect(tries).toBeLessThanOrEqual(360);
    const [patient] = await documents.read('s2', ['patient']);
    expect(patient).toMatchObject({ status: 'pending', lastError: `try ${tries}`, attempts: tries });
    send = async (all) => all.map(() => ({ kind: 'sent' }));
    expect(await sweep()).toMatchObject({ dispatched: 1 });
  });

  test('a message refused for good is parked at once', async () => {
    const box = await outbox('s3');
    await box.store('large');
    box.answers.send = async (all) => all.map(() => ({ kind: 'refused', error: 'too large' }));
    await box.clock.advance(minute);
    expect(await box.sweep()).toEqual({ dispatched: 0, retried: 0, parked: 1, failed: [] });
    expect(await box.read('large')).toMatchObject({ status: 'parked', lastError: 'too large', attempts: 1 });
    await box.clear();
  });

  test('one sweep handles more than a page', async () => {
    const box = await outbox('s4');
    await box.storeMany('m', 130);
    await box.clock.advance(minute);
    expect(await box.sweep()).toMatchObject({ dispatched: 130 });
    expect(new Set(box.sent).size).toBe(130);
    await box.clear();
  });

  test('more than a page of unreadable messages does not block the others', async () => {
    const box = await outbox('s9');
    const nextAttemptAt = new Date(box.clock.now() - 1_000).toISOString();
    const broken = { shard: 's9', type: 'outboxMessage', status: 'pending', nextAttemptAt };
    const bad = Array.from({ length: 102 }, (_, n) => ({ id: `bad-${n}`, ...broken }));
    await storeInBatches(cosmos.containers.invoices, bad);
    await box.storeMany('good-', 120);
    box.clock.stall(minute);
    const unreadable = new Set<string>();
    expect(await box.sweep(held, ({ id }) => void unreadable.add(id))).toMatchObject({ dispatched: 120 });
    expect(unreadable.size).toBe(102);
    await box.clear();
  });

  test('a sweep whose marks all fail does not send the same messages over and over', async () => {
    const box = await outbox('s5');
    await box.storeMany('m', 110);
    await box.clock.advance(minute);
    await cosmos.fault({ kind: '503', count: 1_000, filter: { operation: 'batch', partitionKey: 's5' } });
    expect((await box.sweep()).failed).toEqual(['shard s5: its messages could not be marked']);
    await cosmos.clearFaults();
    expect(box.sent.length).toBeLessThanOrEqual(110);
    expect(box.sent.length).toBe(new Set(box.sent).size);
    await box.clear();
  });

  test('a lost lease ends the sweep before the next page', async () => {
    const box = await outbox('s6');
    await box.storeMany('m-', 130);
    await box.clock.advance(minute);
    let asked = 0;
    const lost = {
      assertHeld() {
        if (++asked > 1) throw new Error('lost');
      },
    };
    await expect(box.sweep(lost)).rejects.toThrow('lost');
    expect(box.sent).toHaveLength(100);
    await box.clear();
  });
});

describe('nothing at the head of the order holds up what is behind it', () => {
  test('a partition that cannot be read is left out and named, the others are swept, and the next sweep has it', async () => {
    const [away, other] = [await outbox('t0'), await outbox('t1')];
    await away.store('waiting');
    await other.storeMany('through-', 130);
    await other.clock.advance(minute);
    const counts = await other.sweepOf(['t0', 't1'], { away: 't0' });
    expect(counts).toMatchObject({ dispatched: 130, failed: ['shard t0: it is away'] });
    expect(await other.sweepOf(['t0', 't1'])).toMatchObject({ dispatched: 1, failed: [] });
    for (const box of [away, other]) await box.clear();
  });

  test('a page of messages whose marks fail does not hide the others, sweep after sweep', async () => {
    const [failing, other] = [await outbox('t2'), await outbox('t3')];
    await failing.storeMany('unmarked-', 110);
    await other.clock.advance(1_000);
    await other.store('behind them');
    await other.clock.advance(minute);
    await cosmos.fault({ kind: '503', count: 1_000, filter: { operation: 'batch', partitionKey: 't2' } });
    expect(await other.sweep()).toMatchObject({ failed: [expect.stringContaining('shard t2')] });
    await cosmos.clearFaults();
    expect(other.sent).toContain('behind them');
    for (const box of [failing, other]) await box.clear();
  });

  test('a destination that is away costs one page, and the messages for another one go', async () => {
    const box = await outbox('t4');
    await box.storeMany('command-', 250);
    await box.clock.advance(1_000);
    const content = { id: 'receipt', shard: 't4', destination: 'work-items', body: [] };
    await cosmos.containers.invoices.items.create(newOutboxMessage(content, box.clock.now()));
    await box.clock.advance(minute);
    box.answers.send = async (all) =>
      all.map(({ destination }) =>
        destination === 'work-items' ? { kind: 'sent' } : { kind: 'failed', error: 'the broker is away' },
      );
    expect(await box.sweep()).toEqual({ dispatched: 1, retried: 100, parked: 0, failed: [] });
    expect(box.sent).toHaveLength(101);
    await box.clear();
  });

  test('when its time is up a sweep ends, and the next one goes on', async () => {
    const box = await outbox('t5');
    await box.storeMany('m', 230);
    await box.clock.advance(minute);
    const timeUp = new AbortController();
    box.answers.send = async (all) => {
      timeUp.abort();
      return all.map(() => ({ kind: 'sent' }));
    };
    expect(await box.sweepOf(['t5'], { signal: timeUp.signal })).toMatchObject({
      dispatched: 100,
      failed: [],
    });
    expect(await box.sweepOf(['t5'])).toMatchObject({ dispatched: 130 });
    await box.clear();
  });
});
