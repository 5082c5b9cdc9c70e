import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { memoryEffects } from '../../../../test/memory/memoryEffects.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { isFull } from '../../../../test/support/onlyInFull.ts';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { createLocks } from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { memoryLockStore } from '../../../leases/src/testing/memoryLockStore.ts';
import { StoreAway } from '../../src/documents/documentStore.ts';
import type { Effects } from '../../src/workItems/effects.ts';
import { RetryLater } from '../../src/workItems/nextTry.ts';
import { createProcessWorkItem } from '../../src/workItems/processWorkItem.ts';
import { defineStage, itemsOf, workItemMessages } from '../../src/workItems/workItem.ts';

/** A work item: the outcomes of its tries, one after the other; then it succeeds, unless it is hopeless. */
const anItem = fc.record({
  stage: fc.constantFrom('stamp', 'ring'),
  tries: fc.array(fc.constantFrom('retryLater' as const, 'bug' as const), { maxLength: 3 }),
  hopeless: fc.boolean(),
});
const maxDeliveries = 5;

interface Trouble {
  /** Which deliveries come a second time, and which calls of the store or the queue fail: taken in turns. */
  twice: readonly boolean[];
  storeFails: readonly boolean[];
  sendFails: readonly boolean[];
}

/** Delivers as the queue does, until it is empty; the messages that end in the poison queue are split as the app does. */
async function deliverAll(
  items: readonly { stage: string; tries: readonly string[]; hopeless: boolean }[],
  { twice, storeFails, sendFails }: Trouble,
) {
  const inTurns = (list: readonly boolean[]) => {
    let n = 0;
    // Trouble ends at some time.
    return () => n < 200 && list[n++ % list.length] === true;
  };
  const [comesTwice, storeIsAway, sendIsLost] = [twice, storeFails, sendFails].map(inTurns);
  const clock = virtualClock();
  const queue: { message: unknown; deliveries: number; at: number }[] = [];
  const put = (message: unknown, deliveries: number, delayMs: number) =>
    queue.push({ message, deliveries, at: clock.now() + delayMs });
  const poison: unknown[] = [];
  const done: string[] = [];
  const left = new Map(items.map(({ tries }, n) => [`${n}`, [...tries]]));
  const stage = (name: string, lease: boolean) =>
    defineStage({
      name,
      lease,
      input: z.strictObject({}),
      async handle(_input, { resourceId }) {
        const next = items[Number(resourceId)]?.hopeless === true ? 'bug' : left.get(resourceId)?.shift();
        if (next === 'retryLater') throw new RetryLater('away');
        if (next === 'bug') throw new Error('a bug');
        done.push(resourceId);
        return {};
      },
    });
  const memory = memoryEffects();
  const unlessAway = async <T>(call: () => Promise<T>): Promise<T> => {
    if (storeIsAway?.() === true) throw new StoreAway('noAnswer', new Error('away'));
    return call();
  };
  const effects: Effects = {
    has: (item) => unlessAway(() => memory.has(item)),
    record: (item, effect) => unlessAway(() => memory.record(item, effect)),
    hasMessage: (id) => unlessAway(() => memory.hasMessage(id)),
    recordMessage: (id, done) => unlessAway(() => memory.recordMessage(id, done)),
  };
  const locks = createLocks(
    memoryLockStore(() => clock.monotonic()),
    { clock, telemetry: noTelemetry },
  );
  const work = createProcessWorkItem({
    stages: [stage('stamp', false), stage('ring', true)],
    effects,
    locks,
    async sendAgain(message, delayMs) {
      if (sendIsLost?.() === true) throw new Error('the queue is away');
      put(message, 0, delayMs);
    },
    poison: { async noteFailure() {} },
    instance: anInstance({ clock }),
  });

  const ordered = items.map(({ stage: name }, n) => ({ resourceId: `${n}`, stage: name, input: {} }));
  for (const message of workItemMessages(ordered)) put(message, 0, 0);
  const next = () => queue.sort((one, other) => one.at - other.at).shift();
  for (let entry = next(); entry !== undefined; entry = next()) {
    const { message, at } = entry;
    await clock.advance(Math.max(0, at - clock.now()));
    const deliveries = entry.deliveries + 1;
    const outcomes = [await work(message).catch(() => 'failed')];
    if (comesTwice?.() === true) outcomes.push(await work(message).catch(() => 'failed'));
    if (outcomes[0] !== 'failed') continue;
    if (deliveries < maxDeliveries) put(message, deliveries, 10_000);
    else if (itemsOf(message) === undefined) poison.push(message);
    else for (const one of itemsOf(message) ?? []) put(one, 0, 0);
  }
  const recorded = memory.all().map(({ item }) => item.resourceId);
  return {
    done,
    poison: poison.map((one) => z.object({ resourceId: z.string() }).parse(one).resourceId),
    recorded,
  };
}

const calm = [false];
const flags = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });

test('whatever fails, comes twice or is away: every work item is done and recorded, or poison', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anItem, { minLength: 1, maxLength: 12 }),
      fc.record({ twice: flags, storeFails: flags, sendFails: flags }),
      async (items, trouble) => {
        const { done, poison, recorded } = await deliverAll(items, trouble);
        for (const [n, { hopeless }] of items.entries()) {
          if (hopeless) expect(poison).toContain(`${n}`);
          else expect([...recorded, ...poison]).toContain(`${n}`);
          if (recorded.includes(`${n}`)) expect(done).toContain(`${n}`);
        }
      },
    ),
    { numRuns: isFull ? 300 : 100 },
  );
});

test('as long as the store and the queue are there, every work item takes effect once and is recorded once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anItem, { minLength: 1, maxLength: 12 }), flags, async (items, twice) => {
      // A repetition right after a delivery finds the record. One that finds a failure instead tries again, and may succeed.
      const patient = items.map((item) => ({
        ...item,
        tries: item.tries.filter((kind) => kind === 'retryLater'),
      }));
      const { done, poison, recorded } = await deliverAll(patient, {
        twice: calm,
        storeFails: calm,
        sendFails: calm,
      });
      const good = patient.flatMap(({ hopeless }, n) => (hopeless ? [] : [`${n}`]));
      expect(done.toSorted()).toEqual(good.toSorted());
      expect(recorded.toSorted()).toEqual(good.toSorted());
      expect(poison).toHaveLength(patient.length - good.length);
      const eager = patient.map((item) => ({ ...item, tries: [] }));
      const again = await deliverAll(eager, { twice, storeFails: calm, sendFails: calm });
      expect(again.done.toSorted()).toEqual(good.toSorted());
      expect(again.recorded.toSorted()).toEqual(good.toSorted());
    }),
    { numRuns: isFull ? 200 : 70 },
  );
});
