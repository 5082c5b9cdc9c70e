import type { DatabaseSync } from 'node:sqlite';

/** Single values by name, as text. */
export function openSettings(db: DatabaseSync) {
  db.exec('CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID');
  const get = db.prepare('SELECT value FROM settings WHERE name = ?');
  const put = db.prepare('INSERT OR REPLACE INTO settings VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM settings WHERE name = ?');
  return {
    get(name: string): string | undefined {
      const row = get.get(name);
      return row === undefined ? undefined : String(row.value);
    },
    /** Undefined removes it. */
    put(name: string, value: string | undefined): void {
      if (value === undefined) remove.run(name);
      else put.run(name, value);
    },
  };
}
