import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { type VirtualClock, virtualClock } from '../../../../test/support/virtualClock.ts';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import { cosmosPoisonStore } from '../../src/workItems/cosmosPoisonStore.ts';
import { poisonItems } from '../../src/workItems/poison.ts';
import { defineStage } from '../../src/workItems/workItem.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterEach(() => cosmos.clearFaults());
afterAll(() => cosmos[Symbol.asyncDispose]());

const stamp = defineStage({ name: 'stamp', input: z.strictObject({}), handle: async () => ({}) });
const item = (resourceId: string) => ({ resourceId, stage: 'stamp', input: {} });
const unreadable = '(unreadable)';

function poison() {
  const clock = virtualClock();
  const sent: unknown[] = [];
  const back: { message: unknown; delayMs: number }[] = [];
  const queue = { awayUntil: 0, refused: 0 };
  const items = poisonItems({
    store: cosmosPoisonStore(cosmos.containers.workItems),
    stages: [stamp],
    async sendAgain(message) {
      if (clock.now() < queue.awayUntil) {
        queue.refused++;
        throw new Error('the queue is away');
      }
      sent.push(message);
    },
    async putBack(message, delayMs) {
      if (clock.now() < queue.awayUntil) throw new Error('the queue is away');
      back.push({ message, delayMs });
    },
    clock,
  });
  return { clock, items, sent, back, queue };
}
async function recorded(resourceId: string, messageId: string) {
  const { resource } = await cosmos.containers.workItems.item(`poison:${messageId}`, resourceId).read();
  return resource as { reason: string; text: string } | undefined;
}
const storeAway = () => cosmos.fault({ kind: '503', count: 100_000, filter: { container: 'workItems' } });

test.each([
  ['longer than a partition key can be', 'x'.repeat(3_000)],
  ['longer than 255 bytes', 'é'.repeat(128)],
  ['not well-formed', 'broken \ud800'],
])('a resource id that is %s: recorded under the placeholder, with what is wrong', async (_what, id) => {
  const { items } = poison();
  const messageId = randomUUID();
  expect(await items.record(item(id), messageId)).toContain('at most 255 bytes');
  expect(await recorded(unreadable, messageId)).toMatchObject({ text: JSON.stringify(item(id)) });
});

test('a resource id of 255 bytes is kept', async () => {
  const { items } = poison();
  const messageId = randomUUID();
  const id = `${'é'.repeat(127)}x`;
  await items.record(item(id), messageId);
  expect(await recorded(id, messageId)).toBeDefined();
});

test('the store is away for a minute: the record is written when it is back, with the right reason', async () => {
  const { clock, items } = poison();
  const id = randomUUID();
  await items.noteFailure(item(id), new Error('out of ink'));
  await storeAway();
  const recording = items.record(item(id), id);
  for (let passed = 0; passed < 60_000; passed += 20_000) {
    await vi.waitFor(() => expect(clock.sleepers()).toBe(1));
    await clock.advance(20_000);
  }
  await vi.waitFor(() => expect(clock.sleepers()).toBe(1));
  await cosmos.clearFaults();
  await clock.advance(30_000);
  expect(await recording).toBe('every delivery failed; the last: out of ink');
  expect(await recorded(id, id)).toBeDefined();
});

test('a store that denies access counts as away', async () => {
  const clock = virtualClock();
  const back: unknown[] = [];
  const items = poisonItems({
    store: cosmosPoisonStore(cosmos.denied.workItems),
    stages: [stamp],
    sendAgain: async () => {},
    putBack: async (message) => void back.push(message),
    clock,
  });
  await recordedOrNot(items.record(item('a'), randomUUID()), clock);
  expect(back).toEqual([item('a')]);
});

test('counts the records that wait for a person', async () => {
  const { items } = poison();
  const before = await items.waiting();
  const id = randomUUID();
  await items.record(item(id), id);
  expect(await items.waiting()).toBe(before + 1);
  const sent: string[] = [];
  const found = (await items.list(100)).find(({ resourceId }) => resourceId === id);
  if (found === undefined) throw new Error('not in the list');
  expect(await items.redrive(found, async (text) => sent.push(text))).toBe(true);
  expect(await items.waiting()).toBe(before);
});

/** Lets time pass until recording has ended. */
async function recordedOrNot(recording: Promise<unknown>, clock: VirtualClock, atOnce = 1): Promise<unknown> {
  let outcome: { is: unknown } | undefined;
  void recording.then(
    (is) => {
      outcome = { is };
    },
    (error: unknown) => {
      outcome = { is: error };
    },
  );
  for (;;) {
    await vi.waitFor(() => expect(outcome !== undefined || clock.sleepers() === atOnce).toBe(true));
    if (outcome !== undefined) return outcome.is;
    await clock.advance(30_000);
  }
}

test('a store that is away for hours: the message stays in the poison queue, and is recorded in the end', async () => {
  const { clock, items, back } = poison();
  const id = randomUUID();
  await storeAway();
  for (let deliveries = 1; deliveries <= 6; deliveries++) {
    const begun = clock.now();
    expect(await recordedOrNot(items.record(item(id), id), clock)).toContain('stays in the poison queue');
    expect(clock.now() - begun).toBeLessThan(3 * 60_000);
    expect(back).toHaveLength(deliveries);
    expect(back.at(-1)).toEqual({ message: item(id), delayMs: 120_000 });
  }
  await cosmos.clearFaults();
  await items.record(item(id), id);
  expect(await recorded(id, id)).toBeDefined();
});

test('if the queue does not take it either, one of five deliveries is used up in eight minutes', async () => {
  const { clock, items, queue } = poison();
  await storeAway();
  queue.awayUntil = Number.POSITIVE_INFINITY;
  const begun = clock.now();
  expect(await recordedOrNot(items.record(item('a'), randomUUID()), clock)).toBeInstanceOf(Error);
  expect((clock.now() - begun) / 60_000).toBeGreaterThan(7);
  expect((clock.now() - begun) / 60_000).toBeLessThan(9);
});

test('if the queue takes it a few minutes later, none is', async () => {
  const { clock, items, queue, back } = poison();
  await storeAway();
  queue.awayUntil = clock.now() + 5 * 60_000;
  const outcome = await recordedOrNot(items.record(item('a'), randomUUID()), clock);
  expect(outcome).toContain('stays in the poison queue');
  expect(back).toHaveLength(1);
});

test('of many copies of a message, one at a time goes back', async () => {
  const { clock, items, back } = poison();
  await storeAway();
  const copies = Array.from({ length: 3 }, () => items.record(item('a'), randomUUID()));
  await recordedOrNot(Promise.all(copies), clock, copies.length);
  expect(back).toHaveLength(1);
});

test('a kept failure expires: most work succeeds at a later try', async () => {
  const { items } = poison();
  const id = randomUUID();
  await items.noteFailure(item(id), new Error('later'));
  const { resource } = await cosmos.containers.workItems.item('failure:stamp', id).read();
  expect(resource).toMatchObject({ status: 'failed', ttl: 30 * 24 * 3600 });
  const { resource: definition } = await cosmos.containers.workItems.read();
  expect(definition).toMatchObject({ defaultTtl: -1 });
});

test('a long reason is never cut through the middle of a character', async () => {
  const { items } = poison();
  const id = randomUUID();
  await items.noteFailure(item(id), new Error(`${'x'.repeat(999)}😀`));
  expect(await items.record(item(id), id)).toSatisfy((reason: string) => reason.isWellFormed());
});

test('a redriven work item keeps the fields that this release does not know', async () => {
  const { items } = poison();
  const id = randomUUID();
  const newer = { ...item(id), version: formatVersion + 1, priority: 'high' };
  await items.record({ ...newer, retry: { tries: 3, since: '2026-01-01T00:00:00.000Z' } }, id);
  const found = (await items.list(100)).find((one) => one.id === `poison:${id}`);
  if (found === undefined) throw new Error('not in the list');
  const sent: string[] = [];
  await items.redrive(found, async (text) => sent.push(text));
  expect(sent.map((text) => JSON.parse(text) as unknown)).toEqual([newer]);
});

describe('a message of several work items', () => {
  const items = ['a', 'b'].map(item);
  const several = { items };

  test('is no record: each of them is sent again alone, so that one that crashes the process harms no other', async () => {
    const { items: poisoned, sent } = poison();
    const id = randomUUID();
    expect(await poisoned.record(several, id)).toContain('2 work items together failed');
    expect(sent).toEqual(items);
    expect(await recorded(unreadable, id)).toBeUndefined();
  });

  test('a queue that takes them and does not say so has few copies of each', async () => {
    const { clock, items: poisoned, queue } = poison();
    queue.awayUntil = Number.POSITIVE_INFINITY;
    const deliveries = Array.from({ length: 5 }, () => poisoned.record(several, randomUUID()));
    await recordedOrNot(Promise.allSettled(deliveries), clock, deliveries.length);
    // Eight minutes have windows of 30 s, 1, 2, 4 and 5 minutes.
    expect(queue.refused).toBeLessThanOrEqual(25);
  });

  test('is sent apart even if the queue is away for a minute', async () => {
    const { clock, items: poisoned, sent, queue } = poison();
    queue.awayUntil = Number.POSITIVE_INFINITY;
    const recording = poisoned.record(several, randomUUID());
    await clock.advance(60_000);
    expect(sent).toEqual([]);
    queue.awayUntil = 0;
    await clock.advance(30_000);
    await recording;
    expect(sent).toEqual(items);
  });
});
