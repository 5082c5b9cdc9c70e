import type { DatabaseSync } from 'node:sqlite';

/** A delivery of an event that is still to be made. */
export interface Delivery {
  /** Of the event. */
  number: number;
  /** When to try next: epoch milliseconds. */
  at: number;
  /** Number of tries that have failed. */
  failures: number;
}

export function openDeliveries(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS deliveries (number INTEGER PRIMARY KEY, at INTEGER, failures INTEGER);
    CREATE INDEX IF NOT EXISTS deliveriesByTime ON deliveries (at, number);
  `);
  const put = db.prepare('INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM deliveries WHERE number = ?');
  const clear = db.prepare('DELETE FROM deliveries');
  const first = db.prepare('SELECT number, at, failures FROM deliveries ORDER BY at, number LIMIT ?');
  const has = db.prepare('SELECT 1 FROM deliveries WHERE number = ?');
  return {
    put({ number, at, failures }: Delivery): void {
      put.run(number, at, failures);
    },
    remove(number: number): void {
      remove.run(number);
    },
    clear(): void {
      clear.run();
    },
    /** The earliest. */
    first: (limit: number): Delivery[] => first.all(limit) as unknown as Delivery[],
    has: (number: number): boolean => has.get(number) !== undefined,
  };
}
