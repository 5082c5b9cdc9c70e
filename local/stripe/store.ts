import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { folded } from './folded.ts';
import type { Intent } from './intent.ts';

/** A ledger row: one charge that moved money. */
export interface Charge {
  id: string;
  invoiceId: string | null;
  /** In the units of Stripe's API, as requested. */
  amount: number;
  currency: string;
  idempotencyKey: string | null;
  paymentIntent: string;
  status: 'succeeded';
  /** ISO 8601. */
  createdAt: string;
}

/** The response to a call, as its idempotency key keeps it. */
export interface Result {
  status: number;
  /** JSON text. */
  body: string;
}

export type Store = ReturnType<typeof openStore>;

/**
 * Stores intents, charges, idempotency keys and tries, in a file in the folder or in memory. In a folder,
 * every answered call survives the death of the process by any signal.
 */
export function openStore(folder: string | undefined) {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(folder === undefined ? ':memory:' : join(folder, 'payments.sqlite'));
  if (folder !== undefined) db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
  db.function('folded', { deterministic: true }, (text) => (typeof text === 'string' ? folded(text) : null));
  db.exec(`
    CREATE TABLE IF NOT EXISTS intents (
      number INTEGER PRIMARY KEY, id TEXT UNIQUE, invoiceId TEXT, changedAt INTEGER, json TEXT
    );
    CREATE INDEX IF NOT EXISTS intentsByFoldedInvoice ON intents (folded(invoiceId));
    CREATE TABLE IF NOT EXISTS charges (number INTEGER PRIMARY KEY, json TEXT);
    CREATE TABLE IF NOT EXISTS keys (
      key TEXT PRIMARY KEY, request TEXT, status INTEGER, body TEXT, createdAt INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tries (
      invoiceId TEXT, paymentMethod TEXT, count INTEGER, PRIMARY KEY (invoiceId, paymentMethod)
    ) WITHOUT ROWID;
  `);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const putIntent = db.prepare(`
    INSERT INTO intents (id, invoiceId, changedAt, json) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET changedAt = excluded.changedAt, json = excluded.json`);
  const intentById = db.prepare('SELECT json FROM intents WHERE id = ?');
  const intentsOfInvoice = db.prepare(
    'SELECT json FROM intents WHERE folded(invoiceId) = folded(?) AND changedAt <= ? ORDER BY number DESC',
  );
  const allIntents = db.prepare('SELECT json FROM intents WHERE changedAt <= ? ORDER BY number DESC');
  const addCharge = db.prepare('INSERT INTO charges (json) VALUES (?)');
  const allCharges = db.prepare('SELECT json FROM charges ORDER BY number');
  const countCharges = db.prepare('SELECT count(*) AS count FROM charges');
  const keyRow = db.prepare('SELECT request, status, body FROM keys WHERE key = ? AND createdAt > ?');
  const putKey = db.prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)');
  const countTry = db.prepare(`
    INSERT INTO tries VALUES (?, ?, 1)
    ON CONFLICT (invoiceId, paymentMethod) DO UPDATE SET count = count + 1 RETURNING count`);
  const text = (value: unknown) => String(value);

  return {
    /** Runs `work` in one transaction. */
    transaction<T>(work: () => T): T {
      begin.run();
      try {
        const result = work();
        commit.run();
        return result;
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
    },
    putIntent(intent: Intent, now: number): void {
      putIntent.run(intent.id, intent.metadata.invoiceId ?? null, now, JSON.stringify(intent));
    },
    intent(id: string): Intent | undefined {
      const row = intentById.get(id);
      return row === undefined ? undefined : (JSON.parse(text(row.json)) as Intent);
    },
    /**
     * Intents last changed at or before `until` (epoch milliseconds), newest first. Restricted to one invoice
     * if `invoiceId` is given, ignoring case.
     */
    intents(until: number, invoiceId?: string): Intent[] {
      const rows = invoiceId === undefined ? allIntents.all(until) : intentsOfInvoice.all(invoiceId, until);
      return rows.map(({ json }) => JSON.parse(text(json)) as Intent);
    },
    addCharge(charge: Charge): void {
      addCharge.run(JSON.stringify(charge));
    },
    /** All charges as a JSON array, oldest first. */
    ledger: (): string =>
      `[${allCharges
        .all()
        .map(({ json }) => text(json))
        .join(',')}]`,
    countCharges: (): number => Number(countCharges.get()?.count),
    /** What the key keeps, if stored after `since` (epoch milliseconds). */
    kept(key: string, since: number): (Result & { request: string }) | undefined {
      return keyRow.get(key, since) as (Result & { request: string }) | undefined;
    },
    keep(key: string, request: string, { status, body }: Result, now: number): void {
      putKey.run(key, request, status, body, now);
    },
    /** Counts one more try of an invoice with a payment method and returns the count, from 1. */
    countTry: (invoiceId: string, method: string): number => Number(countTry.get(invoiceId, method)?.count),
    close: (): void => db.close(),
  };
}
