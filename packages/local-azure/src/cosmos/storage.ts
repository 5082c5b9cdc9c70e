import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Opens the database: a file in the folder, or in memory.
 *
 * A folder gets a write-ahead log with `synchronous = NORMAL`. Acknowledged writes survive any signal that
 * kills this process, because the operating system already has the log. A power cut can lose the last
 * transactions but never leaves one half applied. With an fsync per write, every benchmark would measure the
 * disk.
 */
export function openStorage(folder: string | undefined): DatabaseSync {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(folder === undefined ? ':memory:' : join(folder, 'cosmos.sqlite'));
  // In memory each commit goes through every page (pcache.c of SQLite): larger pages are fewer.
  db.exec(
    folder === undefined
      ? 'PRAGMA page_size = 16384'
      : 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;',
  );
  db.exec(`
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -65536;
    CREATE TABLE IF NOT EXISTS databases (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      ts INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS containers (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      database INTEGER NOT NULL REFERENCES databases (number),
      id TEXT NOT NULL,
      definition TEXT NOT NULL,
      ts INTEGER NOT NULL,
      revision INTEGER NOT NULL DEFAULT 0,
      reserved INTEGER NOT NULL DEFAULT 0,
      UNIQUE (database, id)
    );
  `);
  return db;
}

/** Runs `work` in one transaction. Rolls back if it throws. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}
