import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { type VirtualLocks, virtualLocks } from '../../../../test/support/virtualLocks.ts';
import { workItemLockKey } from '../../../leases/src/index.ts';
import { partMetric } from '../../../leases/src/telemetry.ts';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import { cosmosEffects } from '../../src/workItems/cosmosWorkItems.ts';
import { longestRefusedMs, RetryLater, RetryForADay } from '../../src/workItems/nextTry.ts';
import { createProcessWorkItem } from '../../src/workItems/processWorkItem.ts';
import { defineStage, workItemMessages } from '../../src/workItems/workItem.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterEach(() => cosmos.clearFaults());
afterAll(() => cosmos[Symbol.asyncDispose]());

/** A consumer with two stages: `stamp` needs no lease, `ring` does. Both do first what `before` says for a resource. */
function worker(world: VirtualLocks = virtualLocks()) {
  const done: string[] = [];
  const before = new Map<string, () => Promise<void> | void>();
  const stage = (name: string, lease: boolean) =>
    defineStage({
      name,
      lease,
      input: z.strictObject({}),
      async handle(_input, { resourceId, assertHeld }) {
        await before.get(resourceId)?.();
        assertHeld();
        done.push(resourceId);
        return { of: resourceId };
      },
    });
  const { locks, clock, telemetry } = world;
  const sent: { message: unknown; delayMs: number }[] = [];
  const queue = { away: false };
  const work = createProcessWorkItem({
    stages: [stage('stamp', false), stage('ring', true)],
    effects: cosmosEffects(cosmos.containers.workItems),
    locks,
    async sendAgain(message, delayMs) {
      if (queue.away) throw new Error('the queue is away');
      sent.push({ message, delayMs });
    },
    poison: { async noteFailure() {} },
    instance: anInstance({ clock, telemetry }),
  });
  return { world, done, before, sent, queue, work };
}

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

test('what is sent again takes the trace of its message along', async () => {
  const { before, sent, work } = worker();
  const { items, id } = several(3);
  const [message] = workItemMessages(items, traceparent);
  before.set(id(0), fails(new Error('a bug')));
  before.set(id(1), fails(new RetryLater('away')));
  await work(message);
  expect(sent.map((one) => one.message)).toEqual([
    { ...items[0], traceparent },
    expect.objectContaining({ ...items[1], traceparent }),
  ]);
});

const fails = (error: Error) => () => {
  throw error;
};
/** Work items with ids of their own, and the message that carries them. */
function several(count: number, stage = 'stamp') {
  const name = crypto.randomUUID();
  const items = Array.from({ length: count }, (_, n) => ({ resourceId: `${name}-${n}`, stage, input: {} }));
  const [message] = workItemMessages(items);
  const ids = items.map(({ resourceId }) => resourceId);
  return { message, items, ids, id: (n: number) => ids[n] ?? '' };
}
async function recordedOf(ids: readonly string[]) {
  const query = `SELECT c.resourceId, c.effects FROM c WHERE c.status = 'done'`;
  const { resources } = await cosmos.containers.workItems.items.query(query).fetchAll();
  const all = resources.flatMap((one) => one.effects ?? [one]) as { resourceId: string }[];
  return all.map(({ resourceId }) => resourceId).filter((id) => ids.includes(id));
}

describe('several work items in one message', () => {
  test('all are done without a lease, and recorded in one document', async () => {
    const { work, done, sent, world } = worker();
    const { message, ids } = several(50);
    expect(await work(message)).toBe('done');
    expect(done).toEqual(ids);
    expect(sent).toEqual([]);
    expect(world.calls).toEqual([]);
    const documents = `SELECT * FROM c WHERE ARRAY_LENGTH(c.effects) = 50 AND c.effects[0].resourceId = '${ids[0]}'`;
    const { resources } = await cosmos.containers.workItems.items.query(documents).fetchAll();
    expect(resources).toEqual([
      expect.objectContaining({
        status: 'done',
        effects: ids.map((resourceId) => ({
          resourceId,
          stage: 'stamp',
          effect: { of: resourceId, at: expect.any(String), by: 'host-a' },
        })),
      }),
    ]);
    expect(world.telemetry.values(partMetric.workItemDone)).toHaveLength(50);
  });

  test('a message that comes twice takes effect once', async () => {
    const { work, done } = worker();
    const { message } = several(3);
    await work(message);
    expect(await work(structuredClone(message))).toBe('doneBefore');
    expect(done).toHaveLength(3);
  });

  test('in two processes at the same time they are recorded once', async () => {
    const inside = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const first = worker();
    const { message, ids, id } = several(2);
    first.before.set(id(1), () => {
      inside.resolve();
      return finish.promise;
    });
    const running = first.work(message);
    await inside.promise;
    expect(await worker(virtualLocks({}, first.world)).work(message)).toBe('done');
    finish.resolve();
    expect(await running).toBe('done');
    expect(await recordedOf(ids)).toEqual(ids);
  });

  test('at most sixteen of a stage are done at a time, over all messages', async () => {
    const { work, before } = worker();
    let atOnce = 0;
    let most = 0;
    const messages = [several(20), several(20)];
    for (const id of messages.flatMap(({ ids }) => ids)) {
      before.set(id, async () => {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setImmediate(resolve));
        atOnce--;
      });
    }
    await Promise.all(messages.map(({ message }) => work(message)));
    expect(most).toBe(16);
  });

  test('a stage that needs its lease has it for each item, and each is recorded on its own', async () => {
    const { work, done, world } = worker();
    const { message, items, ids, id } = several(3, 'ring');
    expect(await work(items[1])).toBe('done');
    expect(await work(message)).toBe('done');
    expect(done.toSorted()).toEqual(ids);
    const { resource } = await cosmos.containers.workItems.item('ring', id(2)).read();
    expect(resource).toMatchObject({ status: 'done', effect: { of: id(2) } });
    expect(world.telemetry.values(partMetric.leaseAcquired)).toHaveLength(4);
    await work(message);
    expect(done).toHaveLength(3);
  });
});

describe('one of several work items', () => {
  test('that cannot be done now is sent again for later, and holds up no other', async () => {
    const { work, done, before, sent, world } = worker();
    const { message, items, ids, id } = several(3);
    before.set(id(1), fails(new RetryLater('away')));
    expect(await work(message)).toBe('done');
    expect(done).toEqual([id(0), id(2)]);
    const since = new Date(world.clock.now()).toISOString();
    expect(sent).toEqual([
      { message: { ...items[1], retry: { tries: 1, since } }, delayMs: expect.closeTo(10_000, -4) },
    ]);
    expect(world.telemetry.values(partMetric.workItemRetried)).toEqual([1]);
    before.clear();
    expect(await work(sent[0]?.message)).toBe('done');
    expect((await recordedOf(ids)).toSorted()).toEqual(ids);
  });

  test('that fails otherwise goes on alone, and from there on the way of a single one', async () => {
    const { work, done, before, sent } = worker();
    const { message, items, id } = several(3);
    const bug = new TypeError('undefined is no function');
    before.set(id(0), fails(bug));
    expect(await work(message)).toBe('done');
    expect(done).toEqual([id(1), id(2)]);
    expect(sent).toEqual([{ message: items[0], delayMs: 10_000 }]);
    await expect(work(sent[0]?.message)).rejects.toBe(bug);
    expect(await work(message)).toBe('doneBefore');
    expect(sent).toHaveLength(1);
  });

  test.each([
    ['is none', 'nonsense'],
    ['has a stage that nobody knows', { resourceId: 'a', stage: 'stmap', input: {} }],
    ['has a bad input', { resourceId: 'a', stage: 'stamp', input: { text: 5 } }],
  ])('that %s goes on alone, as it came', async (_what, bad) => {
    const { work, done, sent } = worker();
    const { items, id } = several(2);
    expect(await work({ items: [bad, ...items] })).toBe('done');
    expect(done).toEqual([id(0), id(1)]);
    expect(sent).toEqual([{ message: bad, delayMs: 10_000 }]);
  });

  test('that has been refused for a day goes on alone, to become poison', async () => {
    const { work, before, sent, world } = worker();
    const { items, id } = several(2);
    const since = new Date(world.clock.now() - longestRefusedMs).toISOString();
    const old = items.map((one) => ({ ...one, retry: { tries: 100, since, refusedSince: since } }));
    before.set(id(0), fails(new RetryForADay('refused')));
    await work({ items: old });
    expect(sent).toEqual([{ message: old[0], delayMs: 10_000 }]);
    await expect(work(sent[0]?.message)).rejects.toThrow('refused');
  });

  test('that a newer release has to do is sent again unchanged', async () => {
    const { work, done, sent } = worker();
    const { items, ids } = several(2);
    const newer = { version: formatVersion + 1, resourceId: 'n', stage: 'fold', input: {}, more: 'fields' };
    expect(await work({ items: [...items, newer] })).toBe('done');
    expect(done).toEqual(ids);
    expect(sent).toEqual([{ message: newer, delayMs: 30_000 }]);
  });

  test('whose lease is held elsewhere goes on alone', async () => {
    const { work, done, sent, world } = worker();
    const { message, items, id } = several(2, 'ring');
    const other = virtualLocks({}, world);
    await using _held = await other.locks.acquire(
      workItemLockKey(id(0), 'ring'),
      { instance: 'host-b', job: 'x' },
      { waitMs: 0, fenced: false },
    );
    const working = work(message);
    for (let n = 0; n < 8; n++) await world.clock.advance(1_000);
    expect(await working).toBe('done');
    expect(done).toEqual([id(1)]);
    expect(sent).toEqual([{ message: items[0], delayMs: 10_000 }]);
  });
});

describe('all of several work items', () => {
  test('are sent again together, each time with one more try, and done once they can be', async () => {
    const { work, done, before, sent, world } = worker();
    const { message, items, ids } = several(3);
    for (const id of ids) before.set(id, fails(new RetryLater('away')));
    await work(message);
    await world.clock.advance(sent[0]?.delayMs ?? 0);
    await work(sent[0]?.message);
    expect(sent.map(({ message: again }) => again)).toEqual(
      [1, 2].map((tries) => ({
        items: items.map((one) => ({ ...one, retry: { tries, since: expect.any(String) } })),
      })),
    );
    before.clear();
    expect(await work(sent[1]?.message)).toBe('done');
    expect(done).toEqual(ids);
  });

  test('wait while nobody can say whether they are done', async () => {
    const { work, done, sent } = worker();
    const { items } = several(2);
    await cosmos.fault({ kind: '503', count: 20, filter: { container: 'workItems' } });
    expect(await work({ items: ['nonsense', ...items] })).toBe('done');
    expect(done).toEqual([]);
    expect(sent).toEqual([
      { message: 'nonsense', delayMs: 10_000 },
      {
        message: {
          items: items.map((one) => ({ ...one, retry: { tries: 1, since: expect.any(String) } })),
        },
        delayMs: expect.any(Number),
      },
    ]);
    await cosmos.clearFaults();
    expect(await work(sent[1]?.message)).toBe('done');
    expect(done).toHaveLength(2);
  });

  test('are done again if their effects could not be recorded', async () => {
    const { work, done, sent } = worker();
    const { message, ids } = several(2);
    await cosmos.fault({ kind: '503', count: 4, filter: { container: 'workItems', operation: 'create' } });
    expect(await work(message)).toBe('done');
    await cosmos.clearFaults();
    expect(await recordedOf(ids)).toEqual([]);
    expect(await work(sent[0]?.message)).toBe('done');
    expect(done).toEqual([...ids, ...ids]);
    expect(await recordedOf(ids)).toEqual(ids);
  });

  test('are done again if one of them could not be sent on: nothing is recorded before that', async () => {
    const { work, done, before, queue, sent } = worker();
    const { message, items, ids, id } = several(2);
    before.set(id(0), fails(new Error('a bug')));
    queue.away = true;
    await expect(work(message)).rejects.toThrow('the queue is away');
    expect(await recordedOf(ids)).toEqual([]);
    queue.away = false;
    expect(await work(message)).toBe('done');
    expect(done).toEqual([id(1), id(1)]);
    expect(sent).toEqual([{ message: items[0], delayMs: 10_000 }]);
  });

  test('that have not begun within a minute are sent again at once, together and as they came', async () => {
    const { work, done, before, sent, world } = worker();
    const { message, items, ids } = several(40);
    for (const id of ids.slice(0, 16)) before.set(id, () => world.clock.stall(4_000));
    expect(await work(message)).toBe('done');
    expect(done).toEqual(ids.slice(0, 16));
    expect(sent).toEqual([{ message: { items: items.slice(16) }, delayMs: 0 }]);
    expect(await work(sent[0]?.message)).toBe('done');
    expect(done).toEqual(ids);
  });
});
