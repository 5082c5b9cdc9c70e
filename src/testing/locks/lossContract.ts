import { describe, expect, test } from 'vitest';
import { createLocks, type LockStore } from '../../locking/index.ts';
import { noTelemetry } from '../../platform/telemetry.ts';
import { type ContractWorld, never, one, two } from './subject.ts';

/** Milliseconds after which the callers of a silent server give up, and how much later they must have their answer. */
const giveUpMs = 500;
const lateMs = 2_500;

/** How a holder learns that its lease has gone, and that no call waits for ever. */
export function lossContract(world: ContractWorld): void {
  const { subject, store, record, leaseMs, freshKey, held } = world;
  const owner = { instance: 'web-1', job: 'contract' };

  test('a lease that ended behind its holder’s back is refused, and another may take the lock', async () => {
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
    const watched: LockStore = {
      ...store,
      acquire(wanted, id, ...rest) {
        leaseId = id;
        return store.acquire(wanted, id, ...rest);
      },
    };
    const options = { clock: subject.clock, telemetry: noTelemetry, leaseSeconds: leaseMs / 1000 };
    const locks = createLocks(watched, options);
    const lease = await locks.acquire(key, owner, { waitMs: 10_000 });
    await subject.lose(key, leaseId);
    await subject.pass(leaseMs * 0.5);
    expect(lease.signal.aborted).toBe(true);
    expect(lease.lost).toBeDefined();
    const next = await locks.acquire(key, owner, { waitMs: 10_000 });
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

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
    const aborted = AbortSignal.abort(new Error('given up'));
    await expect(store.renew(key, one, leaseMs, aborted)).rejects.toThrow(Error);
    await expect(store.acquire(freshKey(), two, leaseMs, aborted)).rejects.toThrow(Error);
  });
}

/** A store whose locks need not be created, or that keeps its leases by connections, may know some answers itself. */
function silentAnswer(store: LockStore, call: string): unknown {
  const local = store.traits.keptBy === 'connection' ? ['create', 'release', 'raise', 'renew', 'look'] : [];
  return local.includes(call) ? expect.stringMatching(/^rejected$|^answered /) : 'rejected';
}

async function firstOf(locks: AsyncIterable<unknown> | undefined): Promise<unknown> {
  if (locks === undefined) throw new Error('unsupported');
  for await (const lock of locks) return lock;
  return undefined;
}
