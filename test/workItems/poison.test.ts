import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { statusOf } from '../../src/documents/cosmosDocuments.ts';
import { StoreAway } from '../../src/documents/storeAway.ts';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import { cosmosPoisonStore } from '../../src/workItems/cosmosPoisonStore.ts';
import { poisonItems } from '../../src/workItems/poison.ts';
import { defineStage } from '../../src/workItems/workItem.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { virtualClock } from '../support/virtualClock.ts';

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
  const queue = { away: false };
  const items = poisonItems({
    store: cosmosPoisonStore(cosmos.containers.workItems),
    stages: [stamp],
    async sendAgain(message) {
      if (queue.away) throw new Error('the queue is away');
      sent.push(message);
    },
    clock,
  });
  return { clock, items, sent, queue };
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
  const items = poisonItems({
    store: cosmosPoisonStore(cosmos.denied.workItems),
    stages: [stamp],
    sendAgain: async () => {},
    clock,
  });
  const begun = clock.now();
  let outcome: unknown;
  const recording = items.record(item('a'), randomUUID()).catch((error: unknown) => {
    outcome = error;
  });
  while (outcome === undefined) {
    await vi.waitFor(() => expect(outcome !== undefined || clock.sleepers() === 1).toBe(true));
    if (outcome === undefined) await clock.advance(30_000);
  }
  await recording;
  expect(outcome).toBeInstanceOf(StoreAway);
  expect(statusOf((outcome as StoreAway).cause)).toBe(401);
  expect(clock.now() - begun).toBeGreaterThan(7 * 60_000);
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

test('recording gives up before the time of a function is over', async () => {
  const { clock, items } = poison();
  await storeAway();
  const begun = clock.now();
  let ended = false;
  const recording = items.record(item('a'), randomUUID()).catch((error: unknown) => {
    ended = true;
    return error;
  });
  while (!ended) {
    await vi.waitFor(() => expect(ended || clock.sleepers() === 1).toBe(true));
    if (!ended) await clock.advance(30_000);
  }
  expect(await recording).toBeInstanceOf(Error);
  expect(clock.now() - begun).toBeGreaterThan(7 * 60_000);
  expect(clock.now() - begun).toBeLessThan(9 * 60_000);
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
  const several = { version: 2, items };

  test('is no record: each of them is sent again alone, so that one that ends the process harms no other', async () => {
    const { items: poisoned, sent } = poison();
    const id = randomUUID();
    expect(await poisoned.record(several, id)).toContain('2 work items together failed');
    expect(sent).toEqual(items);
    expect(await recorded(unreadable, id)).toBeUndefined();
  });

  test('is sent apart even if the queue is away for a minute', async () => {
    const { clock, items: poisoned, sent, queue } = poison();
    queue.away = true;
    const recording = poisoned.record(several, randomUUID());
    await clock.advance(60_000);
    expect(sent).toEqual([]);
    queue.away = false;
    await clock.advance(30_000);
    await recording;
    expect(sent).toEqual(items);
  });
});
