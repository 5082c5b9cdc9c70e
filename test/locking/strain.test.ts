import { expect, test } from 'vitest';
import { easedReceipts } from '../../src/followUps/easedReceipts.ts';
import type { ReceiptStore } from '../../src/followUps/receipts.ts';
import { metric } from '../../src/platform/telemetry.ts';
import type { VirtualClock } from '../support/virtualClock.ts';
import { type VirtualLocks, virtualLocks } from '../support/virtualLocks.ts';

const owner = { instance: 'i-1', job: 'test' };
const never = new AbortController().signal;
const strainCounts = ({ telemetry }: VirtualLocks) => telemetry.values(metric.leaseStrained).length;

test('a healthy store is under no strain, nor one that fails once', async () => {
  const world = virtualLocks();
  const lease = await world.locks.tryAcquire('jobs/a', owner);
  await world.clock.advance(60_000);
  world.network.fault = () => ({ kind: 'resetBefore' });
  await world.clock.advance(10_000);
  world.network.fault = () => ({ kind: 'none' });
  expect(world.locks.strained()).toBe(false);
  await world.clock.advance(10_000);
  expect(world.locks.strained()).toBe(false);
  expect(strainCounts(world)).toBe(0);
  await lease?.release();
});

test('a renewal that waits for its answer is noticed after a tenth of the lease, before it has one', async () => {
  const world = virtualLocks();
  await using lease = await world.locks.tryAcquire('jobs/a', owner);
  world.network.fault = () => ({ kind: 'slowSuccess', ms: 4_000 });
  await world.clock.advance(10_000 + 3_000);
  expect(world.locks.strained()).toBe(false);
  await world.clock.advance(1);
  expect(world.locks.strained()).toBe(true);
  expect(strainCounts(world)).toBe(0);
  await world.clock.advance(999);
  expect(strainCounts(world)).toBe(1);
  world.network.fault = () => ({ kind: 'none' });
  await world.clock.advance(29_999);
  expect(world.locks.strained()).toBe(true);
  await world.clock.advance(1);
  expect(world.locks.strained()).toBe(false);
  lease?.assertHeld();
});

test('two requests that fail within one lease are strain; a process without a lease notices it too', async () => {
  const world = virtualLocks();
  world.network.fault = () => ({ kind: 'status', status: 503 });
  const failing = world.locks.tryAcquire('jobs/a', owner).catch((error: unknown) => error);
  await world.clock.advance(10_000);
  await failing;
  expect(world.locks.strained()).toBe(true);
  expect(strainCounts(world)).toBeGreaterThanOrEqual(2);
});

/** A storage account that serves one request after another: a lease has to wait behind all the receipts. */
function saturated() {
  const serviceMs = 100;
  let busyUntil = 0;
  const world = virtualLocks();
  const { clock } = world;
  const waitMs = () => {
    busyUntil = Math.max(clock.monotonic(), busyUntil) + serviceMs;
    return busyUntil - clock.monotonic();
  };
  world.network.fault = () => ({ kind: 'delay', ms: waitMs() });
  const receipts: ReceiptStore = { write: () => clock.sleep(waitMs()) };
  return { ...world, receipts };
}

/** A backlog of receipts that 64 messages at a time write, for as long as it takes. */
function writeBacklog(receipts: ReceiptStore, clock: VirtualClock) {
  const written = { count: 0 };
  const until = clock.monotonic() + 300_000;
  for (let message = 0; message < 64; message++) {
    void (async () => {
      while (clock.monotonic() < until) {
        await receipts.write('name', '{}', never);
        written.count++;
      }
    })();
  }
  return written;
}

async function fiveMinutesOfReceipts(eased: boolean) {
  const { locks, clock, receipts, telemetry } = saturated();
  const acquiring = locks.tryAcquire('jobs/sweep-outbox', owner);
  await clock.advance(1_000);
  const lease = await acquiring;
  if (lease === null) throw new Error('nobody else has the lock');
  const written = writeBacklog(eased ? easedReceipts(receipts, locks.strained) : receipts, clock);
  await clock.advance(300_000);
  return {
    lost: lease.lost?.reason,
    written: written.count,
    counted: telemetry.values(metric.leaseStrained),
  };
}

test('a backlog of receipts that saturates the account costs a lease', async () => {
  const { lost, counted } = await fiveMinutesOfReceipts(false);
  expect(lost).toBe('unreachable');
  expect(counted.length).toBeGreaterThanOrEqual(2);
});

test('unless receipts give way: then the lease is kept, and most of the account is used all the same', async () => {
  const { lost, written } = await fiveMinutesOfReceipts(true);
  expect(lost).toBeUndefined();
  // 3,000 requests are all that the account can serve in five minutes.
  expect(written).toBeGreaterThan(2_000);
});
