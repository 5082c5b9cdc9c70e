import type { DatabaseSync } from 'node:sqlite';
import type { Intent } from '../intent.ts';

/** Payment intents, each with what it was before each of its changes. All times are epoch milliseconds. */
export function openIntents(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS intents (
      number INTEGER PRIMARY KEY, id TEXT UNIQUE, invoiceId TEXT, changedAt INTEGER, json TEXT
    );
    CREATE INDEX IF NOT EXISTS intentsByFoldedInvoice ON intents (folded(invoiceId));
    CREATE TABLE IF NOT EXISTS formerIntents (
      number INTEGER, invoiceId TEXT, changedAt INTEGER, untilAt INTEGER, json TEXT
    );
    CREATE INDEX IF NOT EXISTS formerByFoldedInvoice ON formerIntents (folded(invoiceId));
  `);
  const remember = db.prepare(`
    INSERT INTO formerIntents SELECT number, invoiceId, changedAt, ?, json FROM intents WHERE id = ?`);
  const add = db.prepare(
    'INSERT OR IGNORE INTO intents (id, invoiceId, changedAt, json) VALUES (?, ?, ?, ?)',
  );
  const change = db.prepare('UPDATE intents SET changedAt = ?, json = ? WHERE id = ?');
  const byId = db.prepare('SELECT json FROM intents WHERE id = ?');
  const current = 'SELECT number, json FROM intents WHERE changedAt <= :at';
  const former = 'SELECT number, json FROM formerIntents WHERE changedAt <= :at AND untilAt > :at';
  const ofInvoice = 'AND folded(invoiceId) = folded(:invoiceId)';
  const all = db.prepare(`${current} UNION ALL ${former} ORDER BY number DESC`);
  const allOfInvoice = db.prepare(
    `${current} ${ofInvoice} UNION ALL ${former} ${ofInvoice} ORDER BY number DESC`,
  );

  return {
    /** Stores a new intent, or a change of one. */
    put(intent: Intent, at: number): void {
      const json = JSON.stringify(intent);
      if (add.run(intent.id, intent.metadata.invoiceId ?? null, at, json).changes > 0) return;
      remember.run(at, intent.id);
      change.run(at, json, intent.id);
    },
    get(id: string): Intent | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : (JSON.parse(String(row.json)) as Intent);
    },
    /** The intents as they were at a time, newest first; of one invoice, if given, ignoring case. */
    asOf(at: number, invoiceId?: string): Intent[] {
      const rows = invoiceId === undefined ? all.all({ at }) : allOfInvoice.all({ at, invoiceId });
      return rows.map(({ json }) => JSON.parse(String(json)) as Intent);
    },
  };
}
