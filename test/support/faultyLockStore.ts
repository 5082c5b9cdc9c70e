import type { Clock } from '../../packages/leases/src/clock.ts';
import type { LockStore } from '../../packages/leases/src/index.ts';

/** Fault of one request in flight. */
export type Fault =
  | { kind: 'none' }
  /** Nothing is applied and nothing comes back. */
  | { kind: 'blackHole' }
  /** Applied after `ms`, then answered at once. */
  | { kind: 'delay'; ms: number }
  /** Applied at once, answered after `ms`. */
  | { kind: 'slowSuccess'; ms: number }
  /** The connection breaks before anything is applied. */
  | { kind: 'resetBefore' }
  /** Applied, but the connection breaks before the answer. */
  | { kind: 'resetAfter' }
  /** The service answers with an error and applies nothing. */
  | { kind: 'status'; status: number };

export type Operation = 'look' | 'create' | 'acquire' | 'raise' | 'renew' | 'release' | 'break';

/**
 * A store behind a network: `fault` decides what happens to each request, `applied` is called for each that
 * took effect.
 */
export function faultyLockStore(
  store: LockStore & Required<Pick<LockStore, 'break' | 'list'>>,
  clock: Clock,
  fault: (operation: Operation) => Fault,
  applied: (operation: Operation) => void = () => {},
): LockStore {
  async function pass<T>(operation: Operation, signal: AbortSignal, apply: () => Promise<T>): Promise<T> {
    const now = fault(operation);
    const take = async () => {
      const answer = await apply();
      applied(operation);
      return answer;
    };
    switch (now.kind) {
      case 'none':
        return take();
      case 'blackHole':
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      case 'delay':
        // A request in flight arrives even if its sender has given up.
        await clock.sleep(now.ms);
        return take();
      case 'slowSuccess': {
        const answer = await take();
        await clock.sleep(now.ms);
        return answer;
      }
      case 'resetBefore':
        throw new Error('read ECONNRESET');
      case 'resetAfter':
        await take();
        throw new Error('read ECONNRESET');
      case 'status':
        throw new Error(`the service answered ${now.status}`);
    }
  }

  return {
    ...store,
    look: (key, signal) => pass('look', signal, () => store.look(key, signal)),
    create: (key, signal) => pass('create', signal, () => store.create(key, signal)),
    acquire: (key, id, ms, signal) => pass('acquire', signal, () => store.acquire(key, id, ms, signal)),
    raise: (key, id, record, version, signal) =>
      pass('raise', signal, () => store.raise(key, id, record, version, signal)),
    renew: (key, id, ms, signal) => pass('renew', signal, () => store.renew(key, id, ms, signal)),
    release: (key, id, signal) => pass('release', signal, () => store.release(key, id, signal)),
    break: (key, version, signal) => pass('break', signal, () => store.break(key, version, signal)),
  };
}
