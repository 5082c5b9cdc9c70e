import type { LockStore } from '../../src/locking/index.ts';

/** A store of locks on a server of its own, and the same requests on its bare client. */
export interface BenchStore extends AsyncDisposable {
  store: LockStore;
  /** Another client of the same server, for processes that compete. */
  another: () => Promise<LockStore>;
  /**
   * The requests of one fenced cycle (look, acquire, raise, release) on the bare client, as somebody would write them who
   * needs no more than that. `key` exists already.
   */
  raw: (key: string) => Promise<void>;
}

/** How a benchmark starts a store. */
export interface BenchStoreKind {
  name: string;
  /** The programs it needs, each with its path; undefined if it is not installed. */
  programs: Readonly<Record<string, string | undefined>>;
  /** Length of a lease in the benchmark, in milliseconds. */
  leaseMs: number;
  start: () => Promise<BenchStore>;
}
