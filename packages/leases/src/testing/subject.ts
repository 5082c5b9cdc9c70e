import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Clock } from '../clock.ts';
import type { LockRecord, LockRequest, LockStore, LostReason } from '../index.ts';

/** A process that holds a lock and takes a step under it every 100 ms. */
export interface ContractHolder {
  fence: number;
  /** Steps taken so far. */
  steps(): number;
  /** Resolves when its lease refuses a step. */
  refused: Promise<{ reason: LostReason; signalled: boolean }>;
  kill(): void;
  freeze(): void;
  thaw(): void;
}

/** The store under test and what the contract needs to test it. */
export interface ContractSubject {
  store: LockStore;
  clock: Clock;
  /** Length of the leases in the tests, in milliseconds; one that the store grants. Short ones save time. */
  leaseMs: number;
  /** Lets time pass, for the store and for every process. */
  pass: (ms: number) => Promise<void>;
  /** True if time passes by itself. Tests that wait then run concurrently. */
  realTime: boolean;
  /** Ends a lease behind its holder's back: as by an operator, an eviction, a failover, a closed session. */
  lose: (key: string, leaseId: string) => Promise<void>;
  /** Deletes a lock behind everyone's back. Leave it out where locks cannot be deleted. */
  destroy?: (key: string) => Promise<void>;
  /** Starts a process that acquires the lock and works under it, step by step, until a step is refused. */
  startHolder: (key: string) => Promise<ContractHolder>;
  /** True if the holder can be frozen. Windows has no signals for it. */
  canFreeze: boolean;
  /**
   * Runs `work` with a store whose server accepts requests and answers none, as one that was frozen. What was connected
   * before stays connected. Afterwards the server answers again. Leave it out for a store without a server.
   */
  withSilentServer?: (work: (store: LockStore) => Promise<void>) => Promise<void>;
  /**
   * Starts the server anew on its data. Leave it out where that is not possible, or where the data is not kept.
   */
  restart?: () => Promise<void>;
  /**
   * A client whose connections `reset` breaks, all at once and while no request is in flight. Leave it out for a store
   * without connections.
   */
  resettable?: () => Promise<{ store: LockStore; reset: () => void } & AsyncDisposable>;
  /**
   * Ends the session of a lease, as an administrator of the server can. Leave it out where nobody can, or where the
   * server does not tell the client.
   */
  endSession?: (key: string) => Promise<void>;
  /** Another client of the same server. Leave it out if there can be only one. */
  another?: () => Promise<LockStore>;
}

/** The store, which tells the id of each lease that it is asked for. */
export function watched(store: LockStore, asked: (leaseId: string) => void): LockStore {
  return {
    ...store,
    acquire(key, leaseId, ...rest) {
      asked(leaseId);
      return store.acquire(key, leaseId, ...rest);
    },
    ...(store.take && {
      take(key: string, leaseId: string, ...rest: [LockRequest, AbortSignal]) {
        asked(leaseId);
        return store.take?.(key, leaseId, ...rest) ?? Promise.resolve('held' as const);
      },
    }),
  };
}

/** A signal that never aborts. */
export const never: AbortSignal = new AbortController().signal;

/** Two lease ids. */
export const one = '11111111-1111-4111-8111-111111111111';
export const two = '22222222-2222-4222-8222-222222222222';

/** Things that the tests share: keys that no other run has used, since a server may keep its data, and a lock that is held. */
export interface ContractWorld {
  subject: ContractSubject;
  store: LockStore;
  leaseMs: number;
  /** Prefix of every key of this run. */
  prefix: string;
  freshKey: () => string;
  record: LockRecord;
  /** A new lock, held by lease `one`. */
  held: () => Promise<{ key: string; version: string }>;
  /** The version of a lock that lease `one` holds. */
  versionOf: (key: string) => Promise<string>;
}

export function contractWorld(subject: ContractSubject): ContractWorld {
  const { store, leaseMs } = subject;
  const prefix = `contract-${randomUUID()}/`;
  let count = 0;
  const freshKey = () => `${prefix}${++count}#ü`;

  async function versionOf(key: string): Promise<string> {
    const view = await store.look(key, never);
    if (view === undefined) throw new Error(`there is no lock ${key}`);
    return view.version;
  }

  return {
    subject,
    store,
    leaseMs,
    prefix,
    freshKey,
    versionOf,
    record: {
      fence: 5,
      owner: { instance: 'web-1', job: 'täglich', runId: 'r 1' },
      since: Date.UTC(2026, 0, 1),
      leaseMs,
    },
    async held() {
      const key = freshKey();
      await store.create(key, never);
      expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
      return { key, version: await versionOf(key) };
    },
  };
}
