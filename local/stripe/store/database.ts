import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { folded } from '../folded.ts';

/** The database in the folder, or in memory. In a folder, what is committed survives the death of the process. */
export function openDatabase(folder: string | undefined): DatabaseSync {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(folder === undefined ? ':memory:' : join(folder, 'payments.sqlite'));
  if (folder !== undefined) db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
  db.function('folded', { deterministic: true }, (text) => (typeof text === 'string' ? folded(text) : null));
  return db;
}
