import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Journal, RestingPlace } from './broker/journal.ts';
import type { Message } from './broker/message.ts';
import type { Queue } from './broker/queue.ts';
import { type EntityConfig, entityOf } from './config.ts';

export interface Storage extends Journal {
  /** The entities that clients have created. */
  entities(): EntityConfig[];
  /** Restores a queue from the file. */
  load(queue: Queue, now: number): void;
  /** Commits pending changes and closes the file. */
  close(): void;
}

/**
 * Keeps the queues in `service-bus.sqlite` in a folder. All changes in one turn of the event loop form one
 * transaction, committed before any of them is acknowledged, so acknowledged changes survive a kill of the
 * process. A commit does not flush the file to disk: a power cut may lose the last moments.
 */
export function openStorage(folder: string): Storage {
  mkdirSync(folder, { recursive: true });
  const db = openExclusively(join(folder, 'service-bus.sqlite'));
  db.exec(`
    CREATE TABLE IF NOT EXISTS messages (
      queue TEXT, sequence INTEGER, place TEXT, facts TEXT, annotations BLOB, bare BLOB,
      PRIMARY KEY (queue, sequence));
    CREATE TABLE IF NOT EXISTS seen (queue TEXT, message_id TEXT, at INTEGER, PRIMARY KEY (queue, message_id));
    CREATE INDEX IF NOT EXISTS seen_at ON seen (queue, at);
    CREATE TABLE IF NOT EXISTS sessions (queue TEXT, id TEXT, state BLOB, PRIMARY KEY (queue, id));
    CREATE TABLE IF NOT EXISTS entities (name TEXT PRIMARY KEY, definition TEXT);
    CREATE TABLE IF NOT EXISTS sequences (queue TEXT PRIMARY KEY, next INTEGER);
  `);
  const putMessage = db.prepare(
    'INSERT OR REPLACE INTO messages (queue, sequence, place, facts, annotations, bare) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const removeMessage = db.prepare('DELETE FROM messages WHERE queue = ? AND sequence = ?');
  const putSeen = db.prepare('INSERT OR REPLACE INTO seen (queue, message_id, at) VALUES (?, ?, ?)');
  const forgetSeen = db.prepare('DELETE FROM seen WHERE queue = ? AND at <= ?');
  const putState = db.prepare('INSERT OR REPLACE INTO sessions (queue, id, state) VALUES (?, ?, ?)');
  const putEntity = db.prepare('INSERT OR REPLACE INTO entities (name, definition) VALUES (?, ?)');
  const putSequence = db.prepare(
    'INSERT INTO sequences (queue, next) VALUES (?, ?) ' +
      'ON CONFLICT (queue) DO UPDATE SET next = max(next, excluded.next)',
  );

  let waiting: (() => void)[] = [];
  let highest = new Map<string, number>();
  let open = false;
  let remembered = 0;

  function begin(): void {
    if (open) return;
    open = true;
    db.exec('BEGIN');
    setImmediate(commit);
  }
  function commit(): void {
    if (!open) return;
    for (const [queue, sequence] of highest) putSequence.run(queue, sequence + 1);
    db.exec('COMMIT');
    open = false;
    highest = new Map();
    const done = waiting;
    waiting = [];
    for (const action of done) action();
  }

  return {
    put(queue, message, place) {
      begin();
      if (message.sequenceNumber > (highest.get(queue) ?? 0)) highest.set(queue, message.sequenceNumber);
      const { annotations, bare, ...facts } = message;
      putMessage.run(queue, message.sequenceNumber, place, JSON.stringify(facts), annotations, bare);
    },
    remove(queue, sequence) {
      begin();
      removeMessage.run(queue, sequence);
    },
    rememberId(queue, messageId, at, keepSince) {
      begin();
      putSeen.run(queue, messageId, at);
      remembered++;
      if (remembered % 1000 === 0) forgetSeen.run(queue, keepSince);
    },
    putSessionState(queue, sessionId, state) {
      begin();
      putState.run(queue, sessionId, state);
    },
    putEntity({ kind, name, properties, filters }) {
      begin();
      putEntity.run(name, JSON.stringify({ kind, name, properties, filters }));
    },
    removeEntity(name) {
      begin();
      db.prepare('DELETE FROM entities WHERE name = ?').run(name);
      for (const table of ['messages', 'seen', 'sessions', 'sequences'])
        db.prepare(`DELETE FROM ${table} WHERE queue IN (?, ?)`).run(name, `${name}/$DeadLetterQueue`);
    },
    entities: () =>
      db
        .prepare('SELECT definition FROM entities')
        .all()
        .map((row) => {
          const { kind, name, properties, filters } = JSON.parse(String(row.definition)) as EntityConfig;
          return entityOf(kind, name, properties, filters);
        }),
    afterCommit(action) {
      if (open) waiting.push(action);
      else action();
    },
    load(queue, now) {
      const windowMs = queue.rules.duplicateWindowMs;
      if (windowMs !== undefined) {
        forgetSeen.run(queue.name, now - windowMs);
        const ids = db
          .prepare('SELECT message_id AS id, at FROM seen WHERE queue = ? ORDER BY at')
          .all(queue.name);
        for (const { id, at } of ids) queue.restoreId(String(id), Number(at));
      }
      const rows = db
        .prepare('SELECT place, facts, annotations, bare FROM messages WHERE queue = ? ORDER BY sequence')
        .all(queue.name);
      for (const row of rows) queue.restore(messageFrom(row), row.place as RestingPlace);
      for (const row of db.prepare('SELECT id, state FROM sessions WHERE queue = ?').all(queue.name)) {
        if (row.state !== null) queue.sessionLocks.restoreState(String(row.id), bytes(row.state));
      }
      const next = db.prepare('SELECT next FROM sequences WHERE queue = ?').get(queue.name);
      if (next !== undefined) queue.continueFrom(Number(next.next));
    },
    close() {
      commit();
      db.close();
    },
  };
}

/** Exclusive, because two processes on one file would each hand out the same messages. */
function openExclusively(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  try {
    db.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      BEGIN EXCLUSIVE;
      COMMIT;
    `);
    return db;
  } catch (cause) {
    db.close();
    throw new Error(`${file} cannot be opened; is another process using it?`, { cause });
  }
}

/** Only this module writes the file, so rows are not validated. JSON turned Infinity into null. */
function messageFrom(row: Record<string, unknown>): Message {
  const facts = JSON.parse(String(row.facts)) as Omit<Message, 'annotations' | 'bare'>;
  return {
    ...facts,
    expiresAt: facts.expiresAt ?? Infinity,
    annotations: bytes(row.annotations),
    bare: bytes(row.bare),
  };
}

function bytes(value: unknown): Buffer {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.alloc(0);
}
