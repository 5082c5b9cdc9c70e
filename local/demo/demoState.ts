/** Messages between the page and its server. It imports nothing: the page is built without Node's types. */

/** A switch of the page. */
export interface Breakable {
  title: string;
  /** Full sentences: what breaks, and what protects against it. */
  breaks: string;
  stands: string;
  /** The page of docs/ with the whole answer, and words that are in it. */
  page: string;
  words: string;
}

export type HostState = 'starting' | 'up' | 'frozen' | 'stopping' | 'gone';

/** Something that happened, as the page tells it. */
export interface DemoEvent {
  /** ISO 8601. */
  at: string;
  what: string;
  /** The host that it happened in or to. */
  by?: string;
}

/** A charge that moved money, from the provider's ledger. */
export interface DemoCharge {
  invoice: string;
  key: string;
  /** ISO 8601. */
  at: string;
}

/** Everything that the page shows. */
export interface DemoState {
  /** False during a reset. */
  ready: boolean;
  perSecond: number;
  figures: { due: number; paid: number; charged: number; twice: number };
  queue: { active: number; locked: number; scheduled: number };
  hosts: {
    name: string;
    state: HostState;
    version: string;
    address: string;
    clockBack: boolean;
    /** Groups of invoices whose lease it was the last to take. */
    leases: number;
    calls: number;
    latest: string;
  }[];
  faults: (Breakable & { id: string; on: boolean })[];
  hostFaults: (Breakable & { id: string })[];
  /** `on` while hosts are replaced. */
  deployment: Breakable & { on: boolean };
  guards: (Breakable & { id: string; on: boolean })[];
  all: Breakable;
  /** While *all of it* runs. */
  allOfIt: { seed: number; secondsLeft: number } | undefined;
  invoices: { id: string; status: string; amount: string; charges: number }[];
  /** The latest invoice that was charged more than once. */
  twice: { invoice: string; charges: DemoCharge[] }[];
  ledger: DemoCharge[];
  events: DemoEvent[];
}

/** Body of `POST act`, which the server checks. */
export type DemoAction =
  | { do: 'rate'; perSecond: number }
  | { do: 'fault'; id: string; on: boolean }
  | { do: 'host'; host: number; what: string }
  | { do: 'guards'; ids: string[]; on: boolean }
  | { do: 'all'; seed: number }
  | { do: 'deploy' }
  | { do: 'reset' };
