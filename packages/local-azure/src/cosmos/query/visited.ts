import type { DatabaseSync } from 'node:sqlite';

const counters = new WeakMap<DatabaseSync, { visited: number }>();

/**
 * The number of items that queries on this connection have read so far, whether or not they passed the filter. What an index
 * rules out is not read.
 */
export function itemsVisited(db: DatabaseSync): number {
  return counters.get(db)?.visited ?? 0;
}

/** Registers the function that every query over items calls for each item. It is not deterministic, so it is called each time. */
export function registerVisited(db: DatabaseSync): void {
  const counter = { visited: 0 };
  counters.set(db, counter);
  db.function('cosmos_visited', { deterministic: false, varargs: true }, () => {
    counter.visited++;
    return 1;
  });
}
