import { describe, expect, test } from 'vitest';
import { forceRelease } from '../index.ts';
import { type ContractWorld, never, one, two } from './subject.ts';

/** Tests how a lease is taken away from its holder. */
export function breakingContract({ subject, store, record, leaseMs, freshKey, held }: ContractWorld): void {
  const { clock } = subject;
  const takeAway = store.break;

  test.runIf(takeAway === undefined)('a lock cannot be taken away, and force-release says so', async () => {
    const { key } = await held();
    const request = { key, expectedOwner: 'web-1', actor: 'ops@example.com', reason: 'stuck' };
    expect(await forceRelease(store, request, { clock })).toEqual({ kind: 'unsupported' });
  });
  if (takeAway === undefined) return;

  describe('a broken lease', () => {
    test('is refused to its holder, and another may acquire the lock', async () => {
      const { key, version } = await held();
      expect(await takeAway(key, version, never)).toBe('broken');
      expect((await store.look(key, never))?.held).toBe(false);
      expect(await store.renew(key, one, leaseMs, never)).toMatchObject({
        kind: 'refused',
        reason: 'broken',
      });
      expect(await store.raise(key, one, record, version, never)).toMatchObject({ kind: 'refused' });
      expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
      expect(await store.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
    });

    test('is left alone once a new holder has written its record', async () => {
      const { key, version } = await held();
      await store.raise(key, one, record, version, never);
      expect(await takeAway(key, version, never)).toBe('changed');
      expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    });

    test('needs a lease to break: otherwise the answer is changed or notHeld', async () => {
      const key = freshKey();
      expect(await takeAway(key, '"1"', never)).toBe('changed');
      const { version } = await store.create(key, never);
      expect(await takeAway(key, version, never)).toBe('notHeld');
      expect(await takeAway(key, '"1"', never)).toBe('changed');
    });

    test('by force-release: the fence rises, the lock is free, the old holder is refused', async () => {
      const { key, version } = await held();
      await store.raise(key, one, record, version, never);
      const request = { key, actor: 'ops@example.com', reason: 'stuck' };
      expect(await forceRelease(store, { ...request, expectedOwner: 'web-2' }, { clock })).toEqual({
        kind: 'otherOwner',
        owner: record.owner,
      });
      const released = await forceRelease(store, { ...request, expectedOwner: 'web-1' }, { clock });
      expect(released).toMatchObject({ kind: 'released', previous: record });
      const fence = released.kind === 'released' ? released.fence : 0;
      expect(fence).toBeGreaterThan(record.fence);
      expect(await store.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused' });
      const view = await store.look(key, never);
      expect(view).toMatchObject({
        held: false,
        record: { fence, owner: { instance: 'ops@example.com', job: 'force-release: stuck' } },
      });
      expect(await forceRelease(store, { ...request, expectedOwner: 'web-1' }, { clock })).toEqual({
        kind: 'notHeld',
        owner: { instance: 'ops@example.com', job: 'force-release: stuck' },
      });
      expect(
        await forceRelease(store, { ...request, key: freshKey(), expectedOwner: 'x' }, { clock }),
      ).toEqual({
        kind: 'notFound',
      });
    });
  });
}
