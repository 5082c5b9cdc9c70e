import { describe, expect, test } from 'vitest';
import { createLocks, type LockStore } from '../index.ts';
import { type ContractWorld, never, one, two, watched } from './subject.ts';

/** Milliseconds after which the callers of a silent server give up, and how much later they must have their answer. */
const giveUpMs = 500;
const lateMs = 2_500;

/** Milliseconds in which news of an ended connection reaches its process. */
const momentMs = 250;

/** Tests how a holder learns that its lease has gone, and that no call waits for ever. */
export function lossContract(world: ContractWorld): void {
  const { subject, store, record, leaseMs, freshKey, held } = world;
  const owner = { instance: 'web-1', job: 'contract' };

  test('a lease that ended behind its holder’s back is refused, and another may acquire the lock', async () => {
    const { key, version } = await held();
    await subject.lose(key, one);
    expect(await store.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused' });
    expect(await store.raise(key, one, record, version, never)).not.toBe('raised');
    await store.release(key, one, never);
    expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
  });

  test.runIf(subject.destroy !== undefined)('a holder learns that its lock was deleted', async () => {
    const { key, version } = await held();
    await subject.destroy?.(key);
    expect(await store.renew(key, one, leaseMs, never)).toMatchObject({ kind: 'refused', reason: 'deleted' });
    expect(await store.raise(key, one, record, version, never)).not.toBe('raised');
    expect(await store.release(key, one, never)).toBe('gone');
  });

  test('the signal of a lease aborts at its next renewal, and the next tenure has a higher fence', async () => {
    const key = freshKey();
    let leaseId = '';
    const seen = watched(store, (id) => {
      leaseId = id;
    });
    const locks = createLocks(seen, { clock: subject.clock, leaseSeconds: leaseMs / 1000 });
    const lease = await locks.acquire(key, owner, { waitMs: 10_000 });
    await subject.lose(key, leaseId);
    await subject.pass(leaseMs * 0.5);
    expect(lease.signal.aborted).toBe(true);
    expect(lease.lost).toBeDefined();
    const next = await locks.acquire(key, owner, { waitMs: 10_000 });
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  describe.runIf(store.traits.keptBy === 'connection')(
    'a lease whose connection ends between two requests',
    () => {
      const { resettable, endSession, restart } = subject;
      // A renewal is far away, so that only the store can tell.
      const longMs = Math.min(3 * leaseMs, store.traits.lease.maxMs);

      /** Rejects if a holder trusts its lease when another has had the lock for a moment. */
      async function loses(own: LockStore, end: (key: string) => unknown): Promise<void> {
        const key = freshKey();
        const options = { clock: subject.clock, leaseSeconds: longMs / 1000 };
        const lease = await createLocks(own, options).acquire(key, owner, { waitMs: 30_000 });
        await end(key);
        for (let passed = 0; passed < longMs && lease.lost === undefined; passed += 20) {
          const answer = await store.acquire(key, two, longMs, never).catch(() => 'unknown');
          if (answer === 'acquired') {
            await expect.poll(() => lease.lost, { interval: 1, timeout: momentMs }).toBeDefined();
          }
          await subject.clock.sleep(20);
        }
        await Promise.all([lease.release(), store.release(key, two, never)]);
      }

      test.runIf(resettable !== undefined)(
        'is lost before another has the lock: reset',
        async () => {
          await using line = await resettable?.();
          if (line !== undefined) await loses(line.store, line.reset);
        },
        60_000,
      );

      test.runIf(endSession !== undefined)(
        'is lost before another has the lock: session terminated',
        async () => {
          await loses(store, (key) => endSession?.(key));
        },
        60_000,
      );

      test.runIf(restart !== undefined)(
        'is lost before another has the lock: server started anew',
        async () => {
          await loses(store, () => restart?.());
        },
        60_000,
      );
    },
  );

  const { withSilentServer } = subject;
  describe('a server that answers nothing', { skip: withSilentServer === undefined }, () => {
    test('every call ends when its signal aborts, and later calls are answered', async () => {
      const { key, version } = await held();
      const free = freshKey();
      await withSilentServer?.(async (silent) => {
        const calls: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
          look: (signal) => silent.look(key, signal),
          create: (signal) => silent.create(free, signal),
          acquire: (signal) => silent.acquire(free, two, leaseMs, signal),
          raise: (signal) => silent.raise(key, one, record, version, signal),
          renew: (signal) => silent.renew(key, one, leaseMs, signal),
          release: (signal) => silent.release(free, two, signal),
          ...(silent.take && {
            take: (signal: AbortSignal) => silent.take?.(free, two, { leaseMs }, signal) ?? Promise.resolve(),
          }),
          break: async (signal) =>
            silent.break?.(key, version, signal) ?? Promise.reject(new Error('unsupported')),
          list: (signal) => firstOf(silent.list?.(world.prefix, signal)),
        };
        await Promise.all(
          Object.entries(calls).map(async ([name, call]) => {
            const outcome = call(AbortSignal.timeout(giveUpMs)).then(
              (answer) => `answered ${JSON.stringify(answer)}`,
              () => 'rejected',
            );
            const late = subject.clock.sleep(giveUpMs + lateMs).then(() => 'still waiting');
            expect(await Promise.race([outcome, late]), name).toEqual(silentAnswer(store, name));
          }),
        );
      });
      const again = freshKey();
      await expect
        .poll(() => store.create(again, AbortSignal.timeout(2_000)).then(() => 'created', String), {
          timeout: 20_000,
        })
        .toBe('created');
      expect(await store.acquire(again, two, leaseMs, never)).toBe('acquired');
    }, 60_000);
  });

  test('a call whose signal has aborted already is rejected', async () => {
    const { key } = await held();
    const aborted = AbortSignal.abort(new Error('aborted'));
    await expect(store.renew(key, one, leaseMs, aborted)).rejects.toThrow(Error);
    await expect(store.acquire(freshKey(), two, leaseMs, aborted)).rejects.toThrow(Error);
  });
}

/** A store whose locks need not be created, or that ties its leases to connections, may know some answers itself. */
function silentAnswer(store: LockStore, call: string): unknown {
  const local = store.traits.keptBy === 'connection' ? ['create', 'release', 'raise', 'renew', 'look'] : [];
  return local.includes(call) ? expect.stringMatching(/^rejected$|^answered /) : 'rejected';
}

async function firstOf(locks: AsyncIterable<unknown> | undefined): Promise<unknown> {
  if (locks === undefined) throw new Error('unsupported');
  for await (const lock of locks) return lock;
  return undefined;
}
