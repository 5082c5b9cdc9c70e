import type { DatabaseSync } from 'node:sqlite';

/** The response to a call, as its idempotency key keeps it. */
export interface Result {
  status: number;
  /** JSON text. */
  body: string;
}

export type Kept = Result & { request: string };

/** Opens the table of requests and results by idempotency key. */
export function openKeys(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS keys (
      key TEXT PRIMARY KEY, request TEXT, status INTEGER, body TEXT, createdAt INTEGER
    ) WITHOUT ROWID`);
  const get = db.prepare('SELECT request, status, body FROM keys WHERE key = ? AND createdAt > ?');
  const put = db.prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)');
  return {
    /** Returns the request and result that were stored under the key after `since` (epoch ms), if any. */
    kept: (key: string, since: number): Kept | undefined => get.get(key, since) as Kept | undefined,
    keep(key: string, request: string, { status, body }: Result, now: number): void {
      put.run(key, request, status, body, now);
    },
  };
}
