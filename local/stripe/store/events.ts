import type { DatabaseSync } from 'node:sqlite';

/** An event in the order of its recording. */
export interface EventRow {
  number: number;
  id: string;
  type: string;
  /** Epoch seconds. */
  created: number;
  /** The event without `pending_webhooks`, as JSON text. */
  json: string;
}

export interface EventFilter {
  /** Epoch seconds, both inclusive. */
  from: number;
  until: number;
  /** Numbers, both exclusive. */
  above: number;
  below: number;
  types: readonly string[] | undefined;
}

export function openEvents(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS events (
      number INTEGER PRIMARY KEY, id TEXT UNIQUE, type TEXT, created INTEGER, json TEXT
    )`);
  const add = db.prepare('INSERT INTO events (id, type, created, json) VALUES (?, ?, ?, ?)');
  const byId = db.prepare('SELECT number, id, type, created, json FROM events WHERE id = ?');
  const byNumber = db.prepare('SELECT number, id, type, created, json FROM events WHERE number = ?');
  const page = (order: 'ASC' | 'DESC') =>
    db.prepare(`
      SELECT number, id, type, created, json FROM events
      WHERE number > :above AND number < :below AND created >= :from AND created <= :until
        AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
      ORDER BY number ${order} LIMIT :limit`);
  const newest = page('DESC');
  const oldest = page('ASC');
  const prune = db.prepare('DELETE FROM events WHERE created < ?');
  return {
    /** Returns its number. */
    add: (id: string, type: string, created: number, json: string): number =>
      Number(add.run(id, type, created, json).lastInsertRowid),
    get: (id: string): EventRow | undefined => byId.get(id) as EventRow | undefined,
    numbered: (number: number): EventRow | undefined => byNumber.get(number) as EventRow | undefined,
    /** Up to `limit` events that pass the filter, the newest or the oldest of them. */
    page(filter: EventFilter, end: 'newest' | 'oldest', limit: number): EventRow[] {
      const types = filter.types === undefined ? null : JSON.stringify(filter.types);
      const rows = (end === 'newest' ? newest : oldest).all({ ...filter, types, limit });
      return rows as unknown as EventRow[];
    },
    /** Forgets events created before a time, in epoch seconds. */
    prune(before: number): void {
      prune.run(before);
    },
  };
}
