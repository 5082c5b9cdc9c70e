import { describe, expect, test } from 'vitest';
import {
  createLocks,
  forceRelease,
  type LockRecord,
  type LockStore,
  type LostReason,
  listLocks,
} from '../../../src/locking/index.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { noTelemetry } from '../../../src/platform/telemetry.ts';

/** A process that holds a lock and works under it. See `LockHolder` for a real one. */
export interface ContractHolder {
  fence: number;
  steps(): number;
  refused: Promise<{ reason: LostReason; signalled: boolean }>;
  kill(): void;
  freeze(): void;
  thaw(): void;
}

/** The store under test and what the contract needs to test it. Leases last 15 s. */
export interface ContractSubject {
  store: LockStore;
  clock: Clock;
  /** Lets time pass, for the store and for every process. */
  pass: (ms: number) => Promise<void>;
  /** Whether time passes by itself. Tests that wait then run concurrently. */
  realTime: boolean;
  /** Whether `freeze` and `thaw` work. */
  canFreeze: boolean;
  /** Deletes a lock behind everyone's back. */
  destroy(key: string): Promise<void>;
  /** Starts a process that takes the lock and works under it, step by step, until a step is refused. */
  startHolder(key: string): Promise<ContractHolder>;
}

const never = new AbortController().signal;
const leaseMs = 15_000;
const one = '11111111-1111-4111-8111-111111111111';
const two = '22222222-2222-4222-8222-222222222222';
const record: LockRecord = {
  fence: 5,
  owner: { instance: 'web-1', job: 'täglich', runId: 'r 1' },
  since: Date.UTC(2026, 0, 1),
  leaseMs,
};

/** How a lock store behaves. Every store for leases must pass it. */
export function lockStoreContract(subject: ContractSubject): void {
  const { store, clock, pass } = subject;
  let count = 0;
  const freshKey = () => `contract/${++count}#ü`;

  /** A new lock, held by lease `one`. */
  async function held(): Promise<{ key: string; version: string }> {
    const key = freshKey();
    const { version } = await store.create(key, never);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    return { key, version };
  }

  describe('look and create', () => {
    test('a lock that nobody created does not exist', async () => {
      expect(await store.look(freshKey(), never)).toBeUndefined();
    });

    test('a new lock is free and has no record', async () => {
      const key = freshKey();
      const made = await store.create(key, never);
      expect(made).toMatchObject({ held: false, record: undefined });
      expect(await store.look(key, never)).toEqual(made);
    });

    test('a lock that exists is left as it is, held or not', async () => {
      const { key, version } = await held();
      expect(await store.create(key, never)).toEqual({ held: true, record: undefined, version });
      await store.release(key, one, never);
      expect(await store.create(key, never)).toEqual({ held: false, record: undefined, version });
    });
  });

  describe('acquire', () => {
    test('of a missing lock answers absent', async () => {
      expect(await store.acquire(freshKey(), one, leaseMs, never)).toBe('absent');
    });

    test('one lease gets it, another does not', async () => {
      const { key } = await held();
      expect(await store.acquire(key, two, leaseMs, never)).toBe('held');
      expect((await store.look(key, never))?.held).toBe(true);
    });

    test('is idempotent for the same id', async () => {
      const { key } = await held();
      expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
      expect(await store.renew(key, one, never)).toBe('renewed');
    });

    test('of many at once, exactly one gets it', async () => {
      const key = freshKey();
      await store.create(key, never);
      const ids = Array.from({ length: 20 }, (_, i) => one.slice(0, -2) + String(10 + i));
      const outcomes = await Promise.all(ids.map((id) => store.acquire(key, id, leaseMs, never)));
      expect(outcomes.filter((outcome) => outcome === 'acquired')).toHaveLength(1);
    });

    test('different keys are different locks', async () => {
      const { key } = await held();
      await store.create(`${key}=`, never);
      expect(await store.acquire(`${key}=`, two, leaseMs, never)).toBe('acquired');
    });
  });

  describe('raise', () => {
    test('writes the record for all to read, and changes the version', async () => {
      const { key, version } = await held();
      expect(await store.raise(key, one, record, version, never)).toBe('raised');
      const view = await store.look(key, never);
      expect(view).toMatchObject({ held: true, record });
      expect(view?.version).not.toBe(version);
    });

    test('lease operations do not change the version', async () => {
      const { key, version } = await held();
      await store.renew(key, one, never);
      await store.release(key, one, never);
      await store.acquire(key, two, leaseMs, never);
      expect((await store.look(key, never))?.version).toBe(version);
    });

    test('is refused for an old version, even under the right lease', async () => {
      const { key, version } = await held();
      await store.raise(key, one, record, version, never);
      expect(await store.raise(key, one, { ...record, fence: 9 }, version, never)).toBe('changed');
      expect((await store.look(key, never))?.record?.fence).toBe(5);
    });

    test('is refused under another lease, and without one', async () => {
      const { key, version } = await held();
      const refused = { kind: 'refused', reason: 'taken' };
      expect(await store.raise(key, two, record, version, never)).toMatchObject(refused);
      await store.release(key, one, never);
      expect(await store.raise(key, one, record, version, never)).toMatchObject(refused);
    });
  });

  describe('renew', () => {
    test('is refused to another id', async () => {
      const { key } = await held();
      expect(await store.renew(key, two, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
      expect(await store.renew(key, one, never)).toBe('renewed');
    });

    test('is refused after release', async () => {
      const { key } = await held();
      await store.release(key, one, never);
      expect(await store.renew(key, one, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
    });
  });

  describe('release', () => {
    test('frees the lock; a second release is not an error', async () => {
      const { key } = await held();
      expect(await store.release(key, one, never)).toBe('released');
      expect(await store.release(key, one, never)).toBe('gone');
      expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
      expect(await store.release(key, one, never)).toBe('gone');
      expect(await store.renew(key, two, never)).toBe('renewed');
    });

    test('of a missing lock is not an error', async () => {
      expect(await store.release(freshKey(), one, never)).toBe('gone');
    });
  });

  describe('a broken lease', () => {
    test('is refused to its holder, and another may take the lock', async () => {
      const { key, version } = await held();
      expect(await store.break(key, version, never)).toBe('broken');
      expect((await store.look(key, never))?.held).toBe(false);
      expect(await store.renew(key, one, never)).toMatchObject({ kind: 'refused', reason: 'broken' });
      expect(await store.raise(key, one, record, version, never)).toMatchObject({ kind: 'refused' });
      expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
      expect(await store.renew(key, one, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
    });

    test('is left alone once a new holder has written its record', async () => {
      const { key, version } = await held();
      await store.raise(key, one, record, version, never);
      expect(await store.break(key, version, never)).toBe('changed');
      expect(await store.renew(key, one, never)).toBe('renewed');
    });

    test('needs a lease to break: otherwise the answer is changed or notHeld', async () => {
      const key = freshKey();
      expect(await store.break(key, '"1"', never)).toBe('changed');
      const { version } = await store.create(key, never);
      expect(await store.break(key, version, never)).toBe('notHeld');
    });

    test('by force-release: the fence rises, the lock is free, the old holder is refused', async () => {
      const { key, version } = await held();
      await store.raise(key, one, record, version, never);
      const request = { key, actor: 'ops@example.com', reason: 'stuck' };
      expect(await forceRelease(store, clock, { ...request, expectedOwner: 'web-2' })).toEqual({
        kind: 'otherOwner',
        owner: record.owner,
      });
      expect(await forceRelease(store, clock, { ...request, expectedOwner: 'web-1' })).toEqual({
        kind: 'released',
        previous: record,
        fence: 6,
      });
      expect(await store.renew(key, one, never)).toMatchObject({ kind: 'refused' });
      const view = await store.look(key, never);
      expect(view).toMatchObject({
        held: false,
        record: { fence: 6, owner: { instance: 'ops@example.com', job: 'force-release: stuck' } },
      });
      expect(await forceRelease(store, clock, { ...request, expectedOwner: 'web-1' })).toEqual({
        kind: 'notHeld',
      });
      expect(await forceRelease(store, clock, { ...request, key: freshKey(), expectedOwner: 'x' })).toEqual({
        kind: 'notFound',
      });
    });
  });

  test('a holder learns that its lock was deleted', async () => {
    const { key, version } = await held();
    await subject.destroy(key);
    expect(await store.renew(key, one, never)).toMatchObject({ kind: 'refused', reason: 'deleted' });
    expect(await store.raise(key, one, record, version, never)).not.toBe('raised');
    expect(await store.release(key, one, never)).toBe('gone');
  });

  test('lists keys, holders and fences, held or not', async () => {
    const { key, version } = await held();
    await store.raise(key, one, record, version, never);
    const bare = freshKey();
    await store.create(bare, never);
    const listings = await listLocks(store, clock, { prefix: 'contract/' });
    expect(listings.find((listing) => listing.key === key)).toEqual({
      key,
      held: true,
      owner: record.owner,
      acquiredAt: '2026-01-01T00:00:00.000Z',
      expiry: expect.stringMatching(/Z$/) as string,
      fence: 5,
    });
    expect(listings.find((listing) => listing.key === bare)).toEqual({ key: bare, held: false, fence: 0 });
    expect(await listLocks(store, clock, { prefix: 'no such prefix' })).toEqual([]);
  });

  describe('as time passes', { concurrent: subject.realTime }, () => {
    test('an expired lease is free for others, and its old id no longer works', async ({ expect }) => {
      const [{ key, version }, { key: taken }] = [await held(), await held()];
      await pass(leaseMs + 500);
      expect(await store.raise(key, one, record, version, never)).toMatchObject({ kind: 'refused' });
      // Azurite renews the other lease and answers 200.
      expect(await store.renew(key, two, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
      expect(await store.acquire(taken, two, leaseMs, never)).toBe('acquired');
      expect(await store.renew(taken, one, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
      expect(await store.release(taken, one, never)).toBe('gone');
      expect(await store.renew(taken, two, never)).toBe('renewed');
    });

    test('a renewed lease lives on', async ({ expect }) => {
      const { key } = await held();
      await pass(8000);
      expect(await store.renew(key, one, never)).toBe('renewed');
      await pass(8000);
      expect(await store.acquire(key, two, leaseMs, never)).toBe('held');
    });

    test('fifty waiters all get their turn', async ({ expect }) => {
      const key = freshKey();
      const locks = createLocks(store, { clock, telemetry: noTelemetry, leaseSeconds: 15 });
      let inside = 0;
      const waiters = Array.from({ length: 50 }, async (_, i) => {
        await using lease = await locks.acquire(
          key,
          { instance: `${i}`, job: 'contract' },
          { waitMs: 55_000 },
        );
        expect(++inside).toBe(1);
        await clock.sleep(10);
        lease.assertHeld();
        inside--;
        return lease.fence;
      });
      await pass(10_000);
      expect(new Set(await Promise.all(waiters)).size).toBe(50);
    });

    test('a killed holder is succeeded by another once its lease has run out', async ({ expect }) => {
      const key = freshKey();
      const holder = await subject.startHolder(key);
      holder.kill();
      const locks = createLocks(store, { clock, telemetry: noTelemetry, leaseSeconds: 15 });
      const startedAt = clock.monotonic();
      const waiting = locks.acquire(key, { instance: 'next', job: 'contract' }, { waitMs: 25_000 });
      await pass(17_000);
      const lease = await waiting;
      expect(clock.monotonic() - startedAt).toBeGreaterThan(10_000);
      expect(lease.fence).toBe(holder.fence + 1);
      await lease.release();
    });

    test.runIf(subject.canFreeze)(
      'a holder that was paused for longer than its lease does nothing afterwards',
      async ({ expect }) => {
        const key = freshKey();
        const holder = await subject.startHolder(key);
        await pass(1000);
        expect(holder.steps()).toBeGreaterThan(0);
        holder.freeze();
        await pass(500);
        const stepsBefore = holder.steps();
        await pass(leaseMs);
        const locks = createLocks(store, { clock, telemetry: noTelemetry, leaseSeconds: 15 });
        const next = await locks.tryAcquire(key, { instance: 'next', job: 'contract' });
        expect(next?.fence).toBe(holder.fence + 1);
        holder.thaw();
        await pass(1000);
        expect(await holder.refused).toMatchObject({ reason: 'expired', signalled: true });
        expect(holder.steps()).toBe(stepsBefore);
        next?.assertHeld();
        await next?.release();
      },
    );
  });
}
