import type { StoreAddress } from '../../test/support/openLockStore.ts';

/** A store of locks on a server of its own, and the same requests on its bare client. */
export interface BenchStore extends AsyncDisposable {
  /** Where its servers listen, on 127.0.0.1. */
  ports: readonly number[];
  /** The store, with the server of each port reached at `at(port)`: the port itself, or that of a proxy. */
  address: (at: (port: number) => number) => StoreAddress;
  /** Ends its servers at once, and starts them on their data. Undefined if that is not the store's own business (Azurite). */
  restart?: () => Promise<void>;
  /** Ends all sessions, as an administrator can. Undefined without sessions that a server can end. */
  endSessions?: () => Promise<void>;
  /** Ends so many of its servers that the data is lost, and starts them without. `time` counts the calls. */
  loseData?: (time: number) => Promise<void>;
  /**
   * The requests of one fenced cycle on the bare client with its default settings, as somebody
   * would write them who needs no more than that: as many, in the same order and as many at once, with statements prepared
   * where ours are. Each writes a fence that follows from the last one. `prepare` makes whatever the key needs first.
   */
  raw: { prepare: (key: string) => Promise<void>; cycle: (key: string) => Promise<void> };
}

/** A kind of store, as a benchmark starts it. */
export interface BenchStoreKind {
  name: string;
  /** The programs it needs, each with its path; undefined if it is not installed. */
  programs: Readonly<Record<string, string | undefined>>;
  /** Length of a lease in the benchmark, in milliseconds. */
  leaseMs: number;
  /** `durable`: what it answers survives the end of its servers. Unless told, each does as its users would have it. */
  start: (options?: { durable: boolean }) => Promise<BenchStore>;
}
