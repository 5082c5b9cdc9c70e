import type { LockRecord, LockStore, LockView } from '../../src/locking/index.ts';

interface Entry {
  record: LockRecord | undefined;
  version: number;
  state: 'available' | 'leased' | 'broken';
  leaseId: string | undefined;
  leaseMs: number;
  endsAt: number;
}

export interface MemoryLockStore extends LockStore {
  /** The id of the lease that holds the lock now. */
  holder(key: string): string | undefined;
  delete(key: string): void;
}

/**
 * The reference model of a lock store: leases as the blob service documents them
 * (https://learn.microsoft.com/rest/api/storageservices/lease-blob#outcomes-of-lease-operations-on-blobs-by-lease-state),
 * timed by `now` in milliseconds. An expired lease can be renewed by its id until another lease takes the
 * blob or the blob is changed.
 */
export function memoryLockStore(now: () => number): MemoryLockStore {
  const entries = new Map<string, Entry>();

  const active = (entry: Entry) => entry.state === 'leased' && now() < entry.endsAt;

  function view(entry: Entry): LockView {
    return { held: active(entry), record: entry.record, version: String(entry.version) };
  }

  const gone = { kind: 'refused', reason: 'deleted', detail: 'no such lock' } as const;
  const taken = { kind: 'refused', reason: 'taken', detail: 'the lease id does not match' } as const;
  const broken = { kind: 'refused', reason: 'broken', detail: 'the lease is broken' } as const;

  return {
    async look(key) {
      const entry = entries.get(key);
      return entry && view(entry);
    },

    async create(key) {
      let entry = entries.get(key);
      if (entry === undefined) {
        entry = {
          record: undefined,
          version: 1,
          state: 'available',
          leaseId: undefined,
          leaseMs: 0,
          endsAt: 0,
        };
        entries.set(key, entry);
      }
      return view(entry);
    },

    async acquire(key, leaseId, leaseMs) {
      const entry = entries.get(key);
      if (entry === undefined) return 'absent';
      if (active(entry) && entry.leaseId !== leaseId) return 'held';
      Object.assign(entry, { state: 'leased', leaseId, leaseMs, endsAt: now() + leaseMs });
      return 'acquired';
    },

    async raise(key, leaseId, record, version) {
      const entry = entries.get(key);
      if (entry === undefined) return 'changed';
      if (!active(entry) || entry.leaseId !== leaseId) return taken;
      if (String(entry.version) !== version) return 'changed';
      entry.record = record;
      entry.version++;
      return 'raised';
    },

    async renew(key, leaseId) {
      const entry = entries.get(key);
      if (entry === undefined) return gone;
      if (entry.leaseId !== leaseId) return taken;
      if (entry.state === 'broken') return broken;
      entry.endsAt = now() + entry.leaseMs;
      return 'renewed';
    },

    async release(key, leaseId) {
      const entry = entries.get(key);
      if (entry?.leaseId !== leaseId) return 'gone';
      Object.assign(entry, { state: 'available', leaseId: undefined });
      return 'released';
    },

    async break(key, version) {
      const entry = entries.get(key);
      if (String(entry?.version) !== version || entry === undefined) return 'changed';
      if (entry.state !== 'leased') return 'notHeld';
      entry.state = 'broken';
      return 'broken';
    },

    async *list(prefix) {
      for (const [key, entry] of entries) if (key.startsWith(prefix)) yield { key, ...view(entry) };
    },

    holder(key) {
      const entry = entries.get(key);
      return entry !== undefined && active(entry) ? entry.leaseId : undefined;
    },

    delete(key) {
      entries.delete(key);
    },
  };
}
