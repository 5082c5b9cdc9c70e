import { describe, expect, test } from 'vitest';
import { createLocks, listLocks } from '../index.ts';
import { type ContractWorld, never, one, two } from './subject.ts';

/** Tests the record that holders leave in a lock: their fence and their name. */
export function recordContract(world: ContractWorld): void {
  const { subject, store, record, leaseMs, freshKey, held, prefix } = world;

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
      await store.renew(key, one, leaseMs, never);
      await store.release(key, one, never);
      await store.acquire(key, two, leaseMs, never);
      expect(await world.versionOf(key)).toBe(version);
    });

    test('is refused for an old version, even under the right lease', async () => {
      const { key, version } = await held();
      await store.raise(key, one, record, version, never);
      expect(await store.raise(key, one, { ...record, fence: 9 }, version, never)).toBe('changed');
      expect((await store.look(key, never))?.record?.fence).toBe(5);
    });

    test('is refused for a version that the store never gave out', async () => {
      const { key } = await held();
      for (const version of ['', '0', '"1"', '-1', '9'.repeat(30), 'é', "'; --"]) {
        expect(await store.raise(key, one, record, version, never), version).toBe('changed');
      }
    });

    test('is refused under another lease, and without one', async () => {
      const { key, version } = await held();
      const refused = { kind: 'refused', reason: 'taken' };
      expect(await store.raise(key, two, record, version, never)).toMatchObject(refused);
      await store.release(key, one, never);
      expect(await store.raise(key, one, record, version, never)).toMatchObject(refused);
    });

    test('an owner may have 256 characters of any kind in each part, and no more', async () => {
      const { key, version } = await held();
      const part = '€'.repeat(256);
      const longest = { ...record, owner: { instance: part, job: part, runId: part } };
      expect(await store.raise(key, one, longest, version, never)).toBe('raised');
      expect((await store.look(key, never))?.record).toEqual(longest);
      const longer = { ...record, owner: { instance: `${part}x`, job: 'j' } };
      await expect(store.raise(key, one, longer, version, never)).rejects.toThrow(RangeError);
    });
  });

  test.runIf(store.list !== undefined)('lists keys, holders and fences, held or not', async () => {
    const { clock } = subject;
    const { key, version } = await held();
    await store.raise(key, one, record, version, never);
    const bare = freshKey();
    await store.create(bare, never);
    const listings = await listLocks(store, { prefix, clock });
    expect(listings?.find((listing) => listing.key === key)).toEqual({
      key,
      held: true,
      owner: record.owner,
      acquiredAt: '2026-01-01T00:00:00.000Z',
      expiry: expect.stringMatching(/Z$/) as string,
      fence: 5,
    });
    expect(listings?.find((listing) => listing.key === bare)).toEqual({ key: bare, held: false, fence: 0 });
    expect(await listLocks(store, { prefix: `${prefix}no such` })).toEqual([]);
    expect(await listLocks(store, { prefix: `${prefix.slice(0, -1)}_` })).toEqual([]);
    expect((await listLocks(store, { clock }))?.map((listing) => listing.key)).toContain(key);
  });

  test.runIf(subject.restart !== undefined)(
    'fences go on after the server was started anew',
    async () => {
      const key = freshKey();
      const locks = createLocks(store, { clock: subject.clock, leaseSeconds: leaseMs / 1000 });
      const owner = { instance: 'web-1', job: 'contract' };
      const before = await locks.acquire(key, owner, { waitMs: 10_000 });
      await before.release();
      await subject.restart?.();
      if (store.traits.looks === 'anyone') {
        const look = () => store.look(key, AbortSignal.timeout(5_000)).catch(() => undefined);
        await expect.poll(look, { timeout: 30_000 }).toMatchObject({ record: { fence: before.fence } });
      }
      const after = await locks.acquire(key, owner, { waitMs: 60_000 });
      expect(after.fence).toBeGreaterThan(before.fence);
      await after.release();
    },
    90_000,
  );
}
