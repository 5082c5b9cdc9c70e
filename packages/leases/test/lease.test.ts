import { describe, expect, test } from 'vitest';
import { type Fault, faultyLockStore, type Operation } from '../../../test/support/faultyLockStore.ts';
import { recordedTelemetry } from '../../../test/support/recordedTelemetry.ts';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import { holdLease } from '../src/holdLease.ts';
import type { LeaseOwner, LockStore, Refusal } from '../src/index.ts';
import { LeaseLost, LeaseReleased } from '../src/lease.ts';
import { partMetric } from '../src/telemetry.ts';
import { memoryLockStore } from '../src/testing/memoryLockStore.ts';
import { leaseTiming } from '../src/timing.ts';

const owner: LeaseOwner = { instance: 'i-1', job: 'test' };
const key = 'jobs/test';

/** A lease of 30 s, renewed exactly every 10 s, on a store whose next answers the test decides. `wall`: how wrong that clock is. */
async function hold(wall: { behindMs: number } = { behindMs: 0 }) {
  const clock = virtualClock();
  const memory = memoryLockStore(() => clock.monotonic());
  const telemetry = recordedTelemetry();
  const calls: string[] = [];
  const network: { fault: Fault; forged?: Awaited<ReturnType<LockStore['renew']>> } = {
    fault: { kind: 'none' },
  };
  const never = new AbortController().signal;
  const reached = faultyLockStore(
    memory,
    clock,
    (operation: Operation) => {
      calls.push(operation);
      return network.fault;
    },
    (operation) => calls.push(`${operation} applied`),
  );
  let tell: (why: Refusal) => void = () => {};
  const store: LockStore = {
    ...reached,
    onEnd: (...[, , told]) => (tell = told),
    renew: async (...request) => network.forged ?? reached.renew(...request),
  };
  await memory.create(key, never);
  await memory.acquire(key, 'lease-1', 30_000, never);
  const ours = { ...clock, now: () => clock.now() - wall.behindMs };
  const setting = { store, clock: ours, telemetry, timing: leaseTiming(30), random: () => 0.5 };
  const sentAt = clock.monotonic();
  const lease = holdLease({ key, owner, leaseId: 'lease-1', fence: 7, sentAt }, setting);
  return {
    lease,
    clock,
    memory,
    telemetry,
    calls,
    network,
    elapsed: () => clock.monotonic() - sentAt,
    never,
    endConnection: () => tell({ kind: 'refused', reason: 'broken', detail: 'its connection has ended' }),
  };
}

describe('a store that says that the lease has ended', () => {
  test('is believed at once', async () => {
    const { lease, endConnection } = await hold();
    endConnection();
    expect(lease.signal.aborted).toBe(true);
    expect(lease.lost).toMatchObject({ reason: 'broken', detail: 'its connection has ended' });
  });

  test('says nothing new after a pause in which the trusted time ran out', async () => {
    const { lease, clock, endConnection } = await hold();
    clock.stall(60_000);
    endConnection();
    expect(lease.lost?.reason).toBe('expired');
  });
});

describe('while it is held', () => {
  test('it is renewed every third of its time, for as long as it is held', async () => {
    const { lease, clock, calls, telemetry } = await hold();
    await clock.advance(300_000);
    lease.assertHeld();
    expect(lease.lost).toBeUndefined();
    expect(calls.filter((call) => call === 'renew')).toHaveLength(30);
    expect(telemetry.values(partMetric.leaseLeftAtRenewalMs)).toEqual(Array(30).fill(17_000));
    await lease.release();
  });

  test('a renewal error is not a loss: renewals fail for 16 s and the lease lives on', async () => {
    const { lease, clock, network } = await hold();
    network.fault = { kind: 'status', status: 503 };
    await clock.advance(26_000);
    lease.assertHeld();
    network.fault = { kind: 'none' };
    await clock.advance(60_000);
    lease.assertHeld();
    expect(lease.signal.aborted).toBe(false);
    await lease.release();
  });

  test('a renewal without an answer times out after 5 s and retried', async () => {
    const { lease, clock, network, calls } = await hold();
    network.fault = { kind: 'blackHole' };
    await clock.advance(14_999);
    expect(calls).toEqual(['renew']);
    await clock.advance(1501);
    expect(calls).toEqual(['renew', 'renew']);
    network.fault = { kind: 'none' };
    await Promise.all([lease.release(), clock.advance(5000)]);
  });

  test('a slow renewal extends trust from when it was sent, not from when it was answered', async () => {
    const { lease, clock, network, elapsed } = await hold();
    network.fault = { kind: 'slowSuccess', ms: 4000 };
    await clock.advance(14_000);
    network.fault = { kind: 'status', status: 503 };
    let firedAt = Number.POSITIVE_INFINITY;
    lease.signal.addEventListener('abort', () => (firedAt = elapsed()));
    await clock.advance(60_000);
    expect(firedAt).toBe(10_000 + 26_750);
  });
});

describe('it is lost', () => {
  test.each<[Fault, string]>([
    [{ kind: 'blackHole' }, 'unreachable'],
    [{ kind: 'status', status: 503 }, 'unreachable'],
    [{ kind: 'resetBefore' }, 'unreachable'],
    [{ kind: 'delay', ms: 60_000 }, 'unreachable'],
  ])('%o: %s, and the signal fires before the margin begins', async (fault, reason) => {
    const { lease, clock, network, elapsed } = await hold();
    let firedAt = Number.POSITIVE_INFINITY;
    lease.signal.addEventListener('abort', () => (firedAt = elapsed()));
    network.fault = fault;
    await clock.advance(60_000);
    expect(firedAt).toBeLessThanOrEqual(27_000);
    expect(firedAt).toBeGreaterThan(26_000);
    expect(lease.lost?.reason).toBe(reason);
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
    expect(() => lease.assertHeld()).toThrow(LeaseLost);
  });

  test('deleted: its lock is gone from the store', async () => {
    const { lease, clock, memory } = await hold();
    memory.delete(key);
    await clock.advance(10_000);
    expect(lease.lost).toEqual({ reason: 'deleted', detail: 'no such lock' });
  });

  test('broken: someone broke it', async () => {
    const { lease, clock, memory, never } = await hold();
    await memory.break(key, '1', never);
    await clock.advance(10_000);
    expect(lease.lost?.reason).toBe('broken');
  });

  test('taken: someone broke it and acquired the lock', async () => {
    const { lease, clock, memory, never, telemetry } = await hold();
    await memory.break(key, '1', never);
    await memory.acquire(key, 'lease-2', 30_000, never);
    await clock.advance(10_000);
    expect(lease.lost?.reason).toBe('taken');
    expect(telemetry.reports.filter(({ name }) => name === partMetric.leaseLost)).toEqual([
      { name: partMetric.leaseLost, value: 1, attributes: { job: 'test', reason: 'taken' } },
    ]);
  });

  test('expired: the process was paused, and the first caller to ask learns it before any timer fires', async () => {
    const { lease, clock, calls } = await hold();
    clock.stall(40_000);
    expect(lease.signal.aborted).toBe(false);
    expect(() => lease.assertHeld()).toThrow(/expired.*noticed 13000 ms after/);
    expect(lease.signal.aborted).toBe(true);
    await clock.advance(60_000);
    expect(calls).toEqual([]);
  });

  test('expired: a wall clock that steps back meanwhile lengthens nothing', async () => {
    const wall = { behindMs: 0 };
    const { lease, clock, calls } = await hold(wall);
    wall.behindMs = 7_200_000;
    clock.stall(40_000);
    expect(() => lease.assertHeld()).toThrow(/expired/);
    await clock.advance(60_000);
    expect(calls).toEqual([]);
  });

  test('expired: after a pause it does not renew, asked or not', async () => {
    const { lease, clock, calls } = await hold();
    clock.stall(27_000);
    await clock.advance(0);
    expect(lease.signal.aborted).toBe(true);
    expect(calls).toEqual([]);
  });

  test('a late success revives nothing: the answer came after the trusted time, and nobody had asked', async () => {
    const { lease, clock, network, memory } = await hold();
    network.fault = { kind: 'slowSuccess', ms: 3000 };
    await clock.advance(10_000);
    expect(memory.holder(key)).toBe('lease-1');
    // All at once, the answer and the request's timeout are due and the deadline is over.
    clock.stall(20_000);
    await clock.advance(0);
    expect(lease.signal.aborted).toBe(true);
    await clock.advance(60_000);
    expect(lease.lost).toEqual({
      reason: 'expired',
      detail: 'its renewal was answered 3000 ms after the deadline',
    });
  });

  test('once and for good', async () => {
    const { lease, clock, network } = await hold();
    let fired = 0;
    lease.signal.addEventListener('abort', () => fired++);
    network.forged = { kind: 'refused', reason: 'taken', detail: 'first' };
    await clock.advance(10_000);
    network.forged = 'renewed';
    await clock.advance(60_000);
    expect(fired).toBe(1);
    expect(lease.lost).toEqual({ reason: 'taken', detail: 'first' });
  });

  test('and then it is not released: the lock may be someone else’s', async () => {
    const { lease, clock, network, calls } = await hold();
    network.fault = { kind: 'resetBefore' };
    await clock.advance(30_000);
    await lease.release();
    expect(calls).not.toContain('release');
  });
});

describe('release', () => {
  test('gives the lock back, once', async () => {
    const { lease, calls, memory, telemetry, clock } = await hold();
    await clock.advance(1234);
    await Promise.all([lease.release(), lease.release(), lease[Symbol.asyncDispose]()]);
    expect(calls).toEqual(['release', 'release applied']);
    expect(memory.holder(key)).toBeUndefined();
    expect(telemetry.values(partMetric.leaseHeldMs)).toEqual([1234]);
    expect(clock.sleepers()).toBe(0);
  });

  test('is not a loss, but the lease is no longer held', async () => {
    const { lease, clock } = await hold();
    await lease.release();
    await clock.advance(60_000);
    expect(lease.lost).toBeUndefined();
    expect(lease.signal.aborted).toBe(false);
    expect(() => lease.assertHeld()).toThrow(LeaseReleased);
  });

  test('waits for the renewal in flight', async () => {
    const { lease, clock, network, calls } = await hold();
    network.fault = { kind: 'slowSuccess', ms: 2000 };
    await clock.advance(10_000);
    network.fault = { kind: 'none' };
    const released = lease.release();
    await clock.advance(1999);
    expect(calls).toEqual(['renew', 'renew applied']);
    await clock.advance(1);
    await released;
    expect(calls).toEqual(['renew', 'renew applied', 'release', 'release applied']);
  });

  test.each<Fault>([{ kind: 'blackHole' }, { kind: 'status', status: 500 }, { kind: 'resetBefore' }])(
    'ends within one request timeout and without an error: %o',
    async (fault) => {
      const { lease, clock, network, telemetry } = await hold();
      network.fault = fault;
      const released = lease.release();
      await clock.advance(5000);
      await released;
      expect(telemetry.values(partMetric.leaseReleaseFailed)).toEqual([1]);
      expect(lease.lost).toBeUndefined();
    },
  );

  test('a renewal refused while the lease is released is not a loss', async () => {
    const { lease, clock, network, telemetry } = await hold();
    network.fault = { kind: 'delay', ms: 2000 };
    await clock.advance(10_000);
    network.fault = { kind: 'none' };
    const released = lease.release();
    network.forged = { kind: 'refused', reason: 'taken', detail: 'late' };
    await clock.advance(5000);
    await released;
    expect(telemetry.values(partMetric.leaseLost)).toEqual([]);
  });
});

describe('surrender', () => {
  test('takes the lease from its holder and gives it back', async () => {
    const { lease, memory, calls } = await hold();
    await lease.surrender('the process is shutting down');
    expect(lease.lost).toEqual({ reason: 'expired', detail: 'the process is shutting down' });
    expect(lease.signal.aborted).toBe(true);
    expect(memory.holder(key)).toBeUndefined();
    expect(calls).toEqual(['release', 'release applied']);
  });
});
