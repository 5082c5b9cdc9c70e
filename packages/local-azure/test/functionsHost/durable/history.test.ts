import { expect, inject, test } from 'vitest';
import type { HistoryEvent } from '../../../src/functionsHost/durable/events.ts';
import { type Commit, historyTable } from '../../../src/functionsHost/durable/history.ts';
import { largeTexts } from '../../../src/functionsHost/durable/largeText.ts';
import { openTaskHub } from '../../../src/functionsHost/durable/taskHub.ts';
import { newHubName } from './durableApp.ts';

const hub = await openTaskHub(inject('azurite'), newHubName(), 1);
const history = historyTable(hub, largeTexts(hub.largeMessages));

const events = (count: number, from = 0): HistoryEvent[] =>
  Array.from({ length: count }, (_, index) => ({
    EventType: 'TaskScheduled',
    EventId: from + index,
    Timestamp: '2026-01-01T00:00:00.000Z',
    Name: 'a',
    Input: '"x"',
  }));
const commit = (instanceId: string, over: Partial<Commit>): Commit => ({
  instanceId,
  executionId: 'e1',
  events: [],
  episodeStart: 0,
  customStatus: null,
  firstRow: 0,
  etag: undefined,
  ...over,
});

test('of two hosts that read the same history, only one commits', async () => {
  const etag = await history.commit(commit('race', { events: events(2) }));
  const next = (name: string) =>
    history.commit(
      commit('race', { etag, events: [...events(2), ...events(1, 2)], episodeStart: 2, customStatus: name }),
    );
  const [a, b] = await Promise.all([next('"a"'), next('"b"')]);
  expect([a, b].filter((one) => one === undefined)).toHaveLength(1);
  const stored = await history.read('race');
  expect(stored).toMatchObject({ customStatus: a === undefined ? '"b"' : '"a"', isPublished: false });
  expect(stored?.events).toHaveLength(3);
  expect(await history.commit(commit('race', { events: events(1) }))).toBeUndefined();
});

test('an episode larger than a transaction is visible as a whole or not at all', async () => {
  const all = events(250);
  const etag = await history.commit(commit('long', { events: all }));
  expect((await history.read('long'))?.events).toEqual(all);
  const published = await history.markPublished('long', etag ?? '');
  expect(published).not.toBe(etag);
  expect((await history.read('long'))?.isPublished).toBe(true);
});

test('a new execution replaces the old one', async () => {
  const etag = await history.commit(commit('again', { events: events(3) }));
  const next = commit('again', { executionId: 'e2', firstRow: 3, events: events(1, 9), etag });
  expect(await history.commit(next)).toBeDefined();
  await history.removeBefore('again', 3);
  expect(await history.read('again')).toMatchObject({ executionId: 'e2', events: events(1, 9) });
  await history.remove('again');
  expect(await history.read('again')).toBeUndefined();
});

test('stores ids with characters that table keys cannot hold', async () => {
  await history.commit(commit("a/b?c#d'e", { events: events(1) }));
  expect((await history.read("a/b?c#d'e"))?.events).toHaveLength(1);
});
