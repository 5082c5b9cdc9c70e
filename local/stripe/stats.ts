import { type Operation, operations } from './operation.ts';

export type Stats = ReturnType<typeof createStats>;

/** Counts API calls since the start or the last reset. */
export function createStats() {
  let byOperation = none();
  let overRate = none();
  let replays = 0;
  return {
    count(operation: Operation): void {
      byOperation[operation] += 1;
    },
    /** A call over the rate limit. */
    countOverRate(operation: Operation): void {
      overRate[operation] += 1;
    },
    countReplay(): void {
      replays += 1;
    },
    current() {
      const calls = operations.reduce((sum, operation) => sum + byOperation[operation], 0);
      return { calls, byOperation, replays, overRate };
    },
    reset(): void {
      byOperation = none();
      overRate = none();
      replays = 0;
    },
  };
}

const none = () =>
  Object.fromEntries(operations.map((operation) => [operation, 0])) as Record<Operation, number>;
