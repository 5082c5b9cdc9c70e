import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryEffects } from '../../../../test/memory/memoryEffects.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { StoreAway } from '../../src/documents/documentStore.ts';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import { cosmosEffects } from '../../src/workItems/cosmosWorkItems.ts';
import type { Effects } from '../../src/workItems/effects.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const item = (resourceId: string, more: { stage?: string; occasion?: string } = {}) => ({
  resourceId,
  stage: 'stamp',
  input: {},
  ...more,
});
const effect = { text: 'x', at: '2026-01-01T12:00:00.000Z', by: 'host-a' };

describe.each<[string, () => Effects]>([
  ['Cosmos', () => cosmosEffects(cosmos.containers.workItems)],
  ['memory', memoryEffects],
])('effects in %s', (_where, open) => {
  test('an effect is there once it is recorded, for this stage, occasion and resource only', async () => {
    const effects = open();
    const id = crypto.randomUUID();
    expect(await effects.has(item(id))).toBe(false);
    await effects.record(item(id), effect);
    expect(await effects.has(item(id))).toBe(true);
    expect(await effects.has(item(id, { stage: 'ring' }))).toBe(false);
    expect(await effects.has(item(id, { occasion: 'again' }))).toBe(false);
    expect(await effects.has(item(`${id}-other`))).toBe(false);
  });

  test('effects of a message are there once they are recorded, for this message only', async () => {
    const effects = open();
    const id = `message:${crypto.randomUUID()}`;
    expect(await effects.hasMessage(id)).toBe(false);
    await effects.recordMessage(id, [{ item: item('a'), effect }]);
    expect(await effects.hasMessage(id)).toBe(true);
    expect(await effects.hasMessage(`${id}-other`)).toBe(false);
  });

  test('a second record changes nothing', async () => {
    const effects = open();
    const id = crypto.randomUUID();
    await effects.record(item(id), effect);
    await effects.record(item(id), { ...effect, by: 'host-b' });
    await effects.recordMessage(`message:${id}`, [{ item: item(id), effect }]);
    await effects.recordMessage(`message:${id}`, []);
    expect(await effects.has(item(id))).toBe(true);
    expect(await effects.hasMessage(`message:${id}`)).toBe(true);
  });
});

test('in Cosmos, the effects of a message are one document with a version, in a partition of its own', async () => {
  const effects = cosmosEffects(cosmos.containers.workItems);
  const done = [
    { item: item('a'), effect },
    { item: item('b', { occasion: 'later' }), effect },
  ];
  await effects.recordMessage('message:1', done);
  await effects.recordMessage('message:1', [{ item: item('c'), effect }]);
  const { resource } = await cosmos.containers.workItems.item('message:1', 'message:1').read();
  expect(resource).toMatchObject({
    version: formatVersion,
    status: 'done',
    effects: [
      { resourceId: 'a', stage: 'stamp', effect },
      { resourceId: 'b', stage: 'stamp', occasion: 'later', effect },
    ],
  });
});

test('a Cosmos that denies access counts as away', async () => {
  const effects = cosmosEffects(cosmos.denied.workItems);
  await expect(effects.hasMessage('message:2')).rejects.toThrow(StoreAway);
  await expect(effects.recordMessage('message:2', [])).rejects.toThrow(StoreAway);
});

test('in Cosmos, an effect is kept for 90 days', async () => {
  const effects = cosmosEffects(cosmos.containers.workItems);
  const id = `ends-${crypto.randomUUID()}`;
  await effects.record(item(id), effect);
  await effects.recordMessage(`message:${id}`, [{ item: item(id), effect }]);
  const query = {
    query: 'SELECT c.ttl FROM c WHERE c.resourceId IN (@one, @other)',
    parameters: [
      { name: '@one', value: id },
      { name: '@other', value: `message:${id}` },
    ],
  };
  const { resources } = await cosmos.containers.workItems.items.query(query).fetchAll();
  expect(resources).toEqual([{ ttl: 90 * 86_400 }, { ttl: 90 * 86_400 }]);
});
