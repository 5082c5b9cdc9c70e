import type { LockRecord, LockStore, LockView, StoreTraits } from '../index.ts';
import { checkKey, checkOwner } from '../lockKeys.ts';

interface Entry {
  record: LockRecord | undefined;
  version: number;
  state: 'available' | 'leased' | 'broken';
  leaseId: string | undefined;
  endsAt: number;
}

/** A lock store in memory, with what tests need to see and to do behind a holder's back. */
export interface MemoryLockStore extends LockStore {
  readonly break: NonNullable<LockStore['break']>;
  readonly list: NonNullable<LockStore['list']>;
  /** The id of the lease that holds the lock now. */
  holder(key: string): string | undefined;
  /** Ends the lease behind its holder's back. The holder learns of it at its next renewal. */
  lose(key: string): void;
  /**
   * Cuts the present holder off: its requests get no answer any more. Its lease runs out, and another may acquire the lock.
   */
  abandon(key: string): void;
  /** Deletes the lock; its holder learns of it at the next renewal. */
  delete(key: string): void;
}

/** Those of blobs, but for the lag. */
const traits: StoreTraits = {
  lease: { minMs: 15_000, maxMs: 60_000, stepMs: 1_000 },
  expiryLagMs: 0,
  keptBy: 'id',
  looks: 'anyone',
};

/**
 * The reference model of a lock store: leases as the blob service documents them
 * (https://learn.microsoft.com/rest/api/storageservices/lease-blob#outcomes-of-lease-operations-on-blobs-by-lease-state),
 * timed by `now` in milliseconds. An expired lease can be renewed by its id until another lease takes the
 * blob or the blob is changed.
 */
export function memoryLockStore(now: () => number = () => performance.now()): MemoryLockStore {
  const entries = new Map<string, Entry>();
  const cutOff = new Set<string>();

  const active = (entry: Entry) => entry.state === 'leased' && now() < entry.endsAt;

  function view(entry: Entry): LockView {
    return { held: active(entry), record: entry.record, version: String(entry.version) };
  }

  /** The lock, once the request has arrived: those of a lease that was cut off never do. */
  async function reached(key: string, leaseId: string, signal: AbortSignal): Promise<Entry | undefined> {
    signal.throwIfAborted();
    checkKey(key);
    if (cutOff.has(leaseId)) await new Promise<never>((_, reject) => onAbort(signal, reject));
    return entries.get(key);
  }

  const gone = { kind: 'refused', reason: 'deleted', detail: 'no such lock' } as const;
  const taken = { kind: 'refused', reason: 'taken', detail: 'the lease id does not match' } as const;
  const broken = { kind: 'refused', reason: 'broken', detail: 'the lease is broken' } as const;

  return {
    traits,

    async look(key) {
      const entry = entries.get(key);
      return entry && view(entry);
    },

    async create(key) {
      const fresh: Entry = {
        record: undefined,
        version: 1,
        state: 'available',
        leaseId: undefined,
        endsAt: 0,
      };
      const entry = entries.get(key) ?? fresh;
      entries.set(key, entry);
      return view(entry);
    },

    async acquire(key, leaseId, leaseMs, signal) {
      const entry = await reached(key, leaseId, signal);
      if (entry === undefined) return 'absent';
      if (active(entry) && entry.leaseId !== leaseId) return 'held';
      Object.assign(entry, { state: 'leased', leaseId, endsAt: now() + leaseMs });
      return 'acquired';
    },

    async raise(key, leaseId, record, version, signal) {
      checkOwner(record.owner);
      const entry = await reached(key, leaseId, signal);
      if (entry === undefined) return 'changed';
      if (!active(entry) || entry.leaseId !== leaseId) return taken;
      if (String(entry.version) !== version) return 'changed';
      entry.record = record;
      entry.version++;
      return 'raised';
    },

    async renew(key, leaseId, leaseMs, signal) {
      const entry = await reached(key, leaseId, signal);
      if (entry === undefined) return gone;
      if (entry.leaseId !== leaseId) return taken;
      if (entry.state === 'broken') return broken;
      entry.endsAt = now() + leaseMs;
      return 'renewed';
    },

    async release(key, leaseId, signal) {
      const entry = await reached(key, leaseId, signal);
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

    async forget(key, version) {
      const entry = entries.get(key);
      if (entry === undefined) return 'forgotten';
      if (active(entry)) return 'held';
      if (String(entry.version) !== version) return 'changed';
      entries.delete(key);
      return 'forgotten';
    },

    async *list(prefix) {
      for (const [key, entry] of entries) if (key.startsWith(prefix)) yield { key, ...view(entry) };
    },

    async [Symbol.asyncDispose]() {},

    holder(key) {
      const entry = entries.get(key);
      return entry !== undefined && active(entry) ? entry.leaseId : undefined;
    },

    lose(key) {
      const entry = entries.get(key);
      if (entry !== undefined) Object.assign(entry, { state: 'available', leaseId: undefined });
    },

    abandon(key) {
      const leaseId = entries.get(key)?.leaseId;
      if (leaseId !== undefined) cutOff.add(leaseId);
    },

    delete(key) {
      entries.delete(key);
    },
  };
}

function onAbort(signal: AbortSignal, reject: (reason: unknown) => void): void {
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
}
