import type { DatabaseSync } from 'node:sqlite';

interface Stored {
  id: string;
  /** The id of the intent that it belongs to. Absent: none. */
  payment_intent?: string | null;
}

/** Objects of one kind, each stored as JSON under its id. `table` is a name in SQL. */
export function openObjects<T extends Stored>(db: DatabaseSync, table: string) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS ${table} (
      number INTEGER PRIMARY KEY, id TEXT UNIQUE, intent TEXT, idempotencyKey TEXT, json TEXT
    );
    CREATE INDEX IF NOT EXISTS ${table}ByIntent ON ${table} (intent);
  `);
  const put = db.prepare(`
    INSERT INTO ${table} (id, intent, idempotencyKey, json) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET json = excluded.json`);
  const byId = db.prepare(`SELECT json FROM ${table} WHERE id = ?`);
  const keyOf = db.prepare(`SELECT idempotencyKey FROM ${table} WHERE id = ?`);
  const all = db.prepare(`SELECT json FROM ${table} ORDER BY number DESC`);
  const ofIntent = db.prepare(`SELECT json FROM ${table} WHERE intent = ? ORDER BY number DESC`);
  const read = ({ json }: Record<string, unknown>) => JSON.parse(String(json)) as T;

  return {
    /** Stores a new object with the idempotency key of the request that makes it, or a change of one. */
    put(object: T, idempotencyKey: string | null = null): void {
      put.run(object.id, object.payment_intent ?? null, idempotencyKey, JSON.stringify(object));
    },
    get(id: string): T | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : read(row);
    },
    /** The idempotency key of the request that made it. */
    keyOf(id: string): string | null {
      const key = keyOf.get(id)?.idempotencyKey;
      return typeof key === 'string' ? key : null;
    },
    /** Newest first; of one intent, if given. */
    list: (intent?: string): T[] => (intent === undefined ? all.all() : ofIntent.all(intent)).map(read),
  };
}
