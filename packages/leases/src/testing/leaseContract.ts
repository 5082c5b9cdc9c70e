import { describe, expect, test } from 'vitest';
import { type ContractWorld, never, one, two } from './subject.ts';

/** Texts that differ, and that a store may confuse: by case, by accents, by trailing blanks, by a common beginning. */
const confusable = ['a', 'A', 'a=', 'a ', 'ä', 'a\u0308', 'a/b', 'a%2Fb', 'a#b', "a'b", 'a\\b', 'a\nb'];
const alike = (length: number) => ['1', '2'].map((end) => 'x'.repeat(length) + end);

/** Tests who gets a lock, who may renew its lease, and who may release it. */
export function leaseContract({ subject, store, leaseMs, freshKey, held }: ContractWorld): void {
  const { traits } = store;
  const anyoneLooks = traits.looks === 'anyone';

  describe('look and create', () => {
    test.runIf(anyoneLooks)('a lock that nobody created does not exist', async () => {
      expect(await store.look(freshKey(), never)).toBeUndefined();
    });

    test.runIf(anyoneLooks)('a new lock is free and has no record', async () => {
      const key = freshKey();
      const made = await store.create(key, never);
      expect(made).toMatchObject({ held: false, record: undefined });
      expect(await store.look(key, never)).toMatchObject({
        ...made,
        ...(made.now && { now: expect.any(Number) }),
      });
    });

    test.runIf(anyoneLooks)('a lock that exists is left as it is, held or not', async () => {
      const { key, version } = await held();
      expect(await store.create(key, never)).toMatchObject({ held: true, record: undefined, version });
      await store.release(key, one, never);
      expect(await store.create(key, never)).toMatchObject({ held: false, record: undefined, version });
    });

    test.runIf(traits.looks === 'holder')('only the holder can look', async () => {
      const key = freshKey();
      await expect(store.look(key, never)).rejects.toThrow(Error);
      await store.acquire(key, one, leaseMs, never);
      expect(await store.look(key, never)).toMatchObject({ held: true, record: undefined });
    });
  });

  describe('acquire', () => {
    test.runIf(anyoneLooks)('of a missing lock answers absent', async () => {
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
      expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    });

    test('of many at once, exactly one gets it', async () => {
      const key = freshKey();
      await store.create(key, never);
      const ids = Array.from({ length: 20 }, (_, i) => one.slice(0, -2) + String(10 + i));
      const outcomes = await Promise.all(ids.map((id) => store.acquire(key, id, leaseMs, never)));
      expect(outcomes.filter((outcome) => outcome === 'acquired')).toHaveLength(1);
    });

    test('different keys are different locks', async () => {
      const base = freshKey();
      const keys = [...confusable, ...alike(900)].map((end) => `${base}/${end}`);
      for (const [i, key] of keys.entries()) {
        await store.create(key, never);
        const id = one.slice(0, -2) + String(10 + i);
        expect(await store.acquire(key, id, leaseMs, never), JSON.stringify(key)).toBe('acquired');
        await store.release(key, id, never);
      }
      for (const [i, key] of keys.entries()) {
        const id = one.slice(0, -2) + String(10 + i);
        expect(await store.acquire(key, id, leaseMs, never), JSON.stringify(key)).toBe('acquired');
      }
      for (const [i, key] of keys.entries())
        await store.release(key, one.slice(0, -2) + String(10 + i), never);
    });

    test('one lease id on two keys is two leases', async () => {
      const [{ key: first }, { key: second }] = [await held(), await held()];
      expect(await store.release(first, one, never)).toBe('released');
      expect(await store.renew(second, one, leaseMs, never)).toBe('renewed');
      expect(await store.acquire(second, two, leaseMs, never)).toBe('held');
    });

    test('fifty locks can be held at once', async () => {
      const keys = Array.from({ length: 50 }, freshKey);
      const each = <T>(call: (key: string) => Promise<T>) => Promise.all(keys.map(call));
      await each((key) => store.create(key, never));
      const all = (answer: string) => new Set([answer]);
      expect(new Set(await each((key) => store.acquire(key, one, leaseMs, never)))).toEqual(all('acquired'));
      expect(new Set(await each((key) => store.renew(key, one, leaseMs, never)))).toEqual(all('renewed'));
      expect(new Set(await each((key) => store.release(key, one, never)))).toEqual(all('released'));
    });

    test.each([
      ['an empty key', ''],
      ['a key of more than 1,024 characters', 'x'.repeat(1025)],
    ])('%s is refused', async (_, key) => {
      await expect(store.acquire(key, one, leaseMs, never)).rejects.toThrow(RangeError);
    });
  });

  describe('renew', () => {
    test('is refused to another id', async () => {
      const { key } = await held();
      expect(await store.renew(key, two, leaseMs, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
      expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    });

    test('is refused after release', async () => {
      const { key } = await held();
      await store.release(key, one, never);
      expect(await store.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
    });
  });

  describe('release', () => {
    test('frees the lock; a second release is not an error', async () => {
      const { key } = await held();
      expect(await store.release(key, one, never)).toBe('released');
      expect(await store.release(key, one, never)).toBe('gone');
      expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
      expect(await store.release(key, one, never)).toBe('gone');
      expect(await store.renew(key, two, leaseMs, never)).toBe('renewed');
    });

    test('of a missing lock is not an error', async () => {
      expect(await store.release(freshKey(), one, never)).toBe('gone');
    });
  });

  describe('another client of the same store', { skip: subject.another === undefined }, () => {
    const another = async () => {
      const other = await subject.another?.();
      if (other === undefined) throw new Error('there can be only one client');
      return other;
    };

    test('sees that the lock is held', async () => {
      const { key } = await held();
      await using other = await another();
      expect(await other.acquire(key, two, leaseMs, never)).toBe('held');
    });

    test.runIf(traits.keptBy === 'id')(
      'that knows the lease id may renew the lease and give it back',
      async () => {
        const { key } = await held();
        await using other = await another();
        expect(await other.renew(key, one, leaseMs, never)).toBe('renewed');
        expect(await other.release(key, one, never)).toBe('released');
        expect(await store.renew(key, one, leaseMs, never)).toMatchObject({
          kind: 'refused',
          reason: 'taken',
        });
      },
    );

    test.runIf(traits.keptBy === 'connection')('is refused, even if it knows the lease id', async () => {
      const { key } = await held();
      await using other = await another();
      expect(await other.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
      expect(await other.release(key, one, never)).toBe('gone');
      expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    });

    test('that is disposed leaves its leases, but for those that its connections keep', async () => {
      const key = freshKey();
      const other = await another();
      await other.create(key, never);
      expect(await other.acquire(key, one, leaseMs, never)).toBe('acquired');
      await other[Symbol.asyncDispose]();
      const expected = traits.keptBy === 'id' ? 'held' : 'acquired';
      await expect.poll(() => store.acquire(key, two, leaseMs, never), { timeout: 5_000 }).toBe(expected);
    });
  });
}
