import { expect, test } from 'vitest';
import { newSchedule } from '../../packages/jobs/src/rate/schedule.ts';
import { unlimitedRoom } from '../../src/claiming/dryRun.ts';
import { createClaimRoom, mostOpen, type RoomPolicy } from '../../src/claiming/processInvoices.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';
import { virtualClock } from '../support/virtualClock.ts';

const policy: RoomPolicy = {
  groups: 4,
  batchSize: 50,
  claimStaleMs: 300_000,
  callWindowMs: 210_000,
  ceiling: 25,
};
const schedule = (pace: number, rate: number) => ({ pace, last: { rate, refusedShare: 0 } });

test.each([
  ['a fleet at its pace has two minutes of work open', schedule(25, 25), 3_000],
  ['while nobody has paid, twenty seconds of the pace', undefined, 500],
  [
    'a fleet slower than its pace has two minutes of what it does, and a quarter more to grow',
    schedule(5_000, 1_000),
    150_000,
  ],
  ['a fleet that was idle begins as if nobody had paid', schedule(25, 0), 500],
  ['a pace that was cut counts', schedule(12, 25), 1_440],
])('%s', (_, given, most) => {
  expect(mostOpen(given, policy)).toBe(most);
});

test('nothing is claimed that would go stale before it is begun', () => {
  expect(mostOpen(schedule(25, 25), { ...policy, claimStaleMs: 15_000 })).toBe(150);
  expect(mostOpen(schedule(1, 1), { ...policy, claimStaleMs: 5_000 })).toBe(16);
});

test('nothing is claimed whose turn would come after the time that its batch has for calls', () => {
  const slowCalls = { ...policy, claimStaleMs: 60_000, callWindowMs: 18_000 };
  expect(mostOpen(schedule(25, 25), slowCalls)).toBe(270);
  expect(mostOpen(schedule(25, 25), { ...slowCalls, callWindowMs: 44_000 })).toBe(600);
});

async function room(changes: Partial<RoomPolicy> = {}, open: { count: number | undefined } = { count: 0 }) {
  const clock = virtualClock();
  const pace = memoryPaceStore();
  await pace.create('charges', { ...newSchedule(25, 0), ...schedule(25, 25) });
  const asked = { times: 0 };
  const openClaims = async () => {
    asked.times++;
    if (open.count === undefined) throw new Error('a shard is away');
    return open.count;
  };
  return {
    clock,
    open,
    asked,
    room: createClaimRoom({ invoices: { openClaims }, pace, clock }, 'charges', { ...policy, ...changes }),
  };
}

test('each group takes its part of what is left, and all of them together never too much', async () => {
  const open = { count: 0 };
  const groups = await Promise.all(Array.from({ length: 4 }, () => room({}, open)));
  for (let second = 0; second < 60; second++) {
    let claimed = 0;
    for (const group of groups) {
      for (let size = await group.room.batch(); size > 0; size = await group.room.batch()) {
        expect(size).toBe(50);
        group.room.taken(size);
        claimed += size;
      }
    }
    open.count += claimed;
    expect(open.count).toBeLessThanOrEqual(3_000);
    for (const { clock } of groups) await clock.advance(1_000);
    open.count = Math.max(0, open.count - 25);
    if (second > 20) expect(open.count).toBeGreaterThan(2_500);
  }
});

test('while nothing can be counted, because a shard is away, the others are claimed in, but never more than may be open', async () => {
  const { clock, open, room: claims } = await room({ groups: 1 }, { count: undefined });
  let claimed = 0;
  for (let second = 0; second < 300; second++) {
    for (let size = await claims.batch(); size > 0; size = await claims.batch()) {
      claims.taken(size);
      claimed += size;
    }
    await clock.advance(1_000);
  }
  expect(claimed).toBe(3_000);
  open.count = 0;
  expect(await claims.batch()).toBe(50);
});

test('what is open is counted when the part of a group is used up, once a second at most, and every ten seconds', async () => {
  const { clock, asked, room: claims } = await room();
  for (let n = 0; n < 10; n++) await claims.batch();
  expect(asked.times).toBe(1);
  await clock.advance(9_999);
  await claims.batch();
  expect(asked.times).toBe(1);
  await clock.advance(1);
  await claims.batch();
  expect(asked.times).toBe(2);
  claims.taken(750);
  for (let n = 0; n < 10; n++) await claims.batch();
  expect(asked.times).toBe(2);
  await clock.advance(1_000);
  await claims.batch();
  expect(asked.times).toBe(3);
});

test('batches are smaller where little may be open', async () => {
  const { room: claims } = await room({ claimStaleMs: 15_000 });
  expect(await claims.batch()).toBe(9);
});

test('a dry run has room for everything', async () => {
  const claims = unlimitedRoom(50);
  claims.taken(1_000_000);
  expect(await claims.batch()).toBe(50);
});
