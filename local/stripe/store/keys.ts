import type { DatabaseSync } from 'node:sqlite';

/** The response to a call, as its idempotency key keeps it. */
export interface Result {
  status: number;
  /** JSON text. */
  body: string;
}

export type Kept = Result & { request: string };

/** What idempotency keys keep. */
export function openKeys(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS keys (
      key TEXT PRIMARY KEY, request TEXT, status INTEGER, body TEXT, createdAt INTEGER
    ) WITHOUT ROWID`);
  const get = db.prepare('SELECT request, status, body FROM keys WHERE key = ? AND createdAt > ?');
  const put = db.prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)');
  return {
    /** What the key keeps, if stored after `since` (epoch milliseconds). */
    kept: (key: string, since: number): Kept | undefined => get.get(key, since) as Kept | undefined,
    keep(key: string, request: string, { status, body }: Result, now: number): void {
      put.run(key, request, status, body, now);
    },
  };
}
