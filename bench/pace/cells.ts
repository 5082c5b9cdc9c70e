/** Change of the fleet halfway. `kill`: its first host, which fires the timers, is killed. `add`: a host joins. */
export type Change = 'kill' | 'add';

/** One combination to measure. */
export interface Cell {
  /** Calls per second that the provider allows. */
  rate: number;
  /** Median milliseconds of a call. */
  latencyMs: number;
  /** Hosts at the start. */
  hosts: number;
  change?: Change;
}

export interface CellChoice {
  rates: readonly number[];
  latencies: readonly number[];
  hosts: readonly number[];
  changes: readonly Change[];
}

const hostsAtStart: Record<Change, number> = { kill: 3, add: 2 };

/** All combinations, the steady ones first. Pure. */
export function cellsOf({ rates, latencies, hosts, changes }: CellChoice): Cell[] {
  const traffic = rates.flatMap((rate) => latencies.map((latencyMs) => ({ rate, latencyMs })));
  return [
    ...traffic.flatMap((one) => hosts.map((count) => ({ ...one, hosts: count }))),
    ...traffic.flatMap((one) => changes.map((change) => ({ ...one, hosts: hostsAtStart[change], change }))),
  ];
}
