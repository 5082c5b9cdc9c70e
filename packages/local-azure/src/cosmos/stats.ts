import { isDataOperation, isWrite, type Operation } from './operation.ts';

interface ContainerStats {
  requests: number;
  reads: number;
  writes: number;
  operations: Record<string, number>;
}

export interface Stats {
  /** HTTP requests that read or write items, even if refused. A batch or a page of a query counts as one. */
  requests: number;
  reads: number;
  writes: number;
  /** By container id. Containers with the same id in several databases count together. */
  byContainer: Record<string, ContainerStats>;
  /**
   * Request units charged for requests to items, by container id. Requests that a fault refuses are not
   * charged.
   */
  requestUnits: Record<string, number>;
  /** Requests that no partition serves: account, definitions, partition key ranges and query plans. */
  metadata: { requests: number; operations: Record<string, number> };
}

export function createStats() {
  let stats = empty();
  return {
    record(operation: Operation, container: string | undefined): void {
      if (!isDataOperation(operation) || container === undefined) {
        stats.metadata.requests += 1;
        count(stats.metadata.operations, operation);
        return;
      }
      const own = stats.byContainer[container] ?? { requests: 0, reads: 0, writes: 0, operations: {} };
      stats.byContainer[container] = own;
      for (const counter of [stats, own]) {
        counter.requests += 1;
        counter[isWrite(operation) ? 'writes' : 'reads'] += 1;
      }
      count(own.operations, operation);
    },
    charge(container: string, requestUnits: number): void {
      const before = stats.requestUnits[container] ?? 0;
      stats.requestUnits[container] = Math.round((before + requestUnits) * 100) / 100;
    },
    current: (): Stats => stats,
    reset(): void {
      stats = empty();
    },
  };
}

const empty = (): Stats => ({
  requests: 0,
  reads: 0,
  writes: 0,
  byContainer: {},
  requestUnits: {},
  metadata: { requests: 0, operations: {} },
});

function count(operations: Record<string, number>, operation: string): void {
  operations[operation] = (operations[operation] ?? 0) + 1;
}
