import { expect, test } from 'vitest';
import { eventQueue } from './engine/eventQueue.ts';
import type { Timeline } from './engine/machine.ts';
import { createWorld } from './world/world.ts';

const item = { resourceId: 'pi-1', stage: 'payment-event', occasion: 'evt-1', input: {} };
const other = { ...item, occasion: 'evt-2' };
const effect = { at: '2026-03-02T08:00:00.000Z', by: 'host-0' };

test('a restored database has the effects that were recorded by then, whatever recorded them again', async () => {
  const timeline: Timeline = { events: eventQueue(), now: 1_000, running: undefined };
  const world = createWorld(timeline, {
    // Effects need neither.
    provider: undefined as never,
    queues: undefined as never,
    listsEvents: true,
    staleMs: undefined,
    keepsAll: true,
    onWrite() {},
    onEffect() {},
  });
  const { effects } = world;
  await effects.record(item, effect);
  await effects.recordMessage('early', [{ item: other, effect }]);
  timeline.now = 3_000;
  await effects.record(item, effect);
  await effects.recordMessage('late', [
    { item, effect },
    { item: other, effect },
  ]);
  await effects.record(other, effect);
  await world.restore(2_000);
  expect(await effects.has(item)).toBe(true);
  expect(await effects.hasMessage('early')).toBe(true);
  expect(await effects.has(other)).toBe(false);
  expect(await effects.hasMessage('late')).toBe(false);
});
