import type { DatabaseSync } from 'node:sqlite';

/** Kind of outcome that is due. A charge has its outcome from its payment method. */
export type DueKind = 'charge' | 'refundSucceeds' | 'refundFails';

export interface Due {
  number: number;
  /** Epoch milliseconds. */
  at: number;
  kind: DueKind;
  /** Of the charge or refund. */
  id: string;
}

/** Outcomes that are due later. */
export function openDue(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS due (number INTEGER PRIMARY KEY, at INTEGER, kind TEXT, id TEXT);
    CREATE INDEX IF NOT EXISTS dueByTime ON due (at, number);
  `);
  const add = db.prepare('INSERT INTO due (at, kind, id) VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM due WHERE id = ?');
  const first = db.prepare('SELECT number, at, kind, id FROM due ORDER BY at, number LIMIT 1');
  /** Kept in memory, because every request asks. Undefined: to be read. */
  let next: Due | null | undefined;
  return {
    add(at: number, kind: DueKind, id: string): void {
      add.run(at, kind, id);
      next = undefined;
    },
    remove(id: string): void {
      remove.run(id);
      next = undefined;
    },
    /** The earliest; null if none is. */
    next(): Due | null {
      if (next === undefined) next = (first.get() as Due | undefined) ?? null;
      return next;
    },
    /** To be called after a rollback. */
    forget(): void {
      next = undefined;
    },
  };
}
