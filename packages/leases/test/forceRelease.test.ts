import { describe, expect, test } from 'vitest';
import { type Fault, faultyLockStore, type Operation } from '../../../test/support/faultyLockStore.ts';
import { virtualLocks } from '../../../test/support/virtualLocks.ts';
import { forceRelease, type LockStore, LockStoreFailed } from '../src/index.ts';
import { partMetric } from '../src/telemetry.ts';

const key = 'jobs/test';
const holder = { instance: 'web-1', job: 'test' };
const asked = { key, expectedOwner: 'web-1', actor: 'ada@example.com', reason: 'stuck' };

/** A lock that `web-1` holds, and an operator whose requests meet `network.fault`. */
async function heldLock() {
  const { locks, memory, clock, telemetry } = virtualLocks();
  const lease = await locks.tryAcquire(key, holder);
  if (lease === null) throw new Error('not acquired');
  const network: { fault: (operation: Operation) => Fault } = { fault: () => ({ kind: 'none' }) };
  const store = faultyLockStore(memory, clock, (operation) => network.fault(operation));
  const look = () => memory.look(key, new AbortController().signal);
  const release = async (request: Partial<typeof asked> = {}) => {
    const outcome = forceRelease(store, { ...asked, ...request }, { clock, telemetry });
    const settled = outcome.catch((error: unknown) => error);
    await clock.advance(5000);
    return settled;
  };
  return { lease, memory, network, telemetry, look, release };
}

describe('force-release', () => {
  test('records who asked and why, as far as the record has room', async () => {
    const { lease, look, release } = await heldLock();
    const outcome = await release({ actor: 'a'.repeat(300), reason: 'r'.repeat(300) });
    expect(outcome).toMatchObject({ kind: 'released', fence: lease.fence + 1 });
    expect(await look()).toMatchObject({
      held: false,
      record: { fence: lease.fence + 1, owner: { instance: 'a'.repeat(256) } },
    });
  });

  test.each([{ actor: ' ' }, { reason: '' }])(
    'does nothing without a name and a reason: %o',
    async (blank) => {
      const { lease, memory, release } = await heldLock();
      expect(await release(blank)).toBeInstanceOf(RangeError);
      expect(memory.holder(key)).toBeDefined();
      lease.assertHeld();
    },
  );

  test.each<Fault>([{ kind: 'status', status: 503 }, { kind: 'resetAfter' }])(
    'retries the raise if it gets no answer once: %o',
    async (fault) => {
      const { lease, network, look, release } = await heldLock();
      let left = 1;
      network.fault = (operation) => (operation === 'raise' && left-- > 0 ? fault : { kind: 'none' });
      expect(await release()).toMatchObject({ kind: 'released' });
      expect((await look())?.record?.fence).toBeGreaterThan(lease.fence);
    },
  );

  test.each<[Operation, Fault]>([
    ['break', { kind: 'resetAfter' }],
    ['acquire', { kind: 'resetAfter' }],
    ['raise', { kind: 'resetBefore' }],
  ])(
    'that fails at its %s is finished by a second one: the former holder is fenced out',
    async (operation, fault) => {
      const { lease, network, look, release } = await heldLock();
      network.fault = (seen) => (seen === operation ? fault : { kind: 'none' });
      expect(await release()).toBeInstanceOf(Error);
      expect((await look())?.record?.fence).toBe(lease.fence);
      network.fault = () => ({ kind: 'none' });
      const released = await release();
      expect(released).toMatchObject({ kind: 'released', fence: expect.any(Number) });
      const record = (await look())?.record;
      expect(record?.fence).toBeGreaterThan(lease.fence);
      expect(released).toMatchObject({ fence: record?.fence });
    },
  );

  test('still reports success if the lock cannot be released, and counts it', async () => {
    const { network, telemetry, release } = await heldLock();
    network.fault = (operation) =>
      operation === 'release' ? { kind: 'status', status: 500 } : { kind: 'none' };
    expect(await release()).toMatchObject({ kind: 'released' });
    expect(telemetry.values(partMetric.leaseReleaseFailed)).toEqual([1]);
  });

  test('succeeds if a waiter acquires the lock as soon as it is broken', async () => {
    const { lease, memory, network, release } = await heldLock();
    const { signal } = new AbortController();
    let looks = 0;
    network.fault = (operation) => {
      // The first look is at the holder; the waiter comes between the break and the second.
      if (operation === 'look' && ++looks === 2) void takeAsWaiter();
      return { kind: 'none' };
    };
    const outcome = await release();
    expect(outcome).toMatchObject({
      kind: 'released',
      previous: { owner: holder },
      fence: lease.fence + 1,
    });
    expect(memory.holder(key)).toBe('waiter');

    async function takeAsWaiter() {
      await memory.acquire(key, 'waiter', 30_000, signal);
      const view = await memory.look(key, signal);
      const record = {
        fence: lease.fence + 1,
        owner: { instance: 'w', job: 'x' },
        since: 0,
        leaseMs: 30_000,
      };
      await memory.raise(key, 'waiter', record, view?.version ?? '', signal);
    }
  });

  test('of a free lock raises its fence only for its last holder', async () => {
    const { lease, look, release } = await heldLock();
    await lease.release();
    expect(await release({ expectedOwner: 'web-2' })).toEqual({ kind: 'notHeld', owner: lease.owner });
    expect((await look())?.record?.fence).toBe(lease.fence);
    expect(await release()).toMatchObject({ kind: 'released' });
    expect((await look())?.record?.fence).toBeGreaterThan(lease.fence);
  });

  test('fails with LockStoreFailed if the fence cannot be raised', async () => {
    const { network, release } = await heldLock();
    network.fault = (operation) => (operation === 'raise' ? { kind: 'resetBefore' } : { kind: 'none' });
    expect(await release()).toBeInstanceOf(LockStoreFailed);
  });

  test('passes those who wait in line', async () => {
    const { lease, memory, look } = await heldLock();
    const withLine: LockStore = { ...memory, take: async () => 'held' };
    expect(await forceRelease(withLine, asked)).toMatchObject({ kind: 'released' });
    expect((await look())?.record?.fence).toBeGreaterThan(lease.fence);
  });

  test('fails if whoever takes the lock meanwhile leaves no fence: the former holder is not fenced out', async () => {
    const { memory, network, release } = await heldLock();
    network.fault = (operation) => {
      if (operation === 'acquire') void memory.acquire(key, 'unfenced', 30_000, new AbortController().signal);
      return { kind: 'none' };
    };
    expect(await release()).toBeInstanceOf(LockStoreFailed);
  });
});
