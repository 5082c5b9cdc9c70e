import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface Intent {
  id: string;
  invoiceId: string;
  amount: number;
  currency: string;
  status: string;
  metadata: Record<string, string>;
  /** Milliseconds. */
  createdAt: number;
}

/** A row of the ledger: one charge that moved money. */
export interface Charge {
  id: string;
  invoiceId: string;
  amount: number;
  currency: string;
  idempotencyKey: string | null;
  status: 'succeeded';
  createdAt: string;
}

/** The result that a key stands for. */
export interface KeptResult {
  parameters: string;
  status: number;
  body: string;
}

/** Stripe forgets a key after this long, in milliseconds. */
const keyLifeMs = 24 * 3600 * 1000;

export type Store = ReturnType<typeof openStore>;

/** Intents, charges and idempotency keys, in memory or in a file of the folder. */
export function openStore(folder: string | undefined) {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(folder === undefined ? ':memory:' : join(folder, 'payments.sqlite'));
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS intents (id TEXT PRIMARY KEY, invoiceId TEXT, status TEXT, createdAt INTEGER, json TEXT);
    CREATE INDEX IF NOT EXISTS intentsByInvoice ON intents (invoiceId);
    CREATE TABLE IF NOT EXISTS charges (seq INTEGER PRIMARY KEY, json TEXT);
    CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, parameters TEXT, status INTEGER, body TEXT, createdAt INTEGER);
    CREATE TABLE IF NOT EXISTS calls (invoiceId TEXT PRIMARY KEY, count INTEGER);
  `);
  const statements = {
    putIntent: db.prepare('INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?)'),
    intent: db.prepare('SELECT json FROM intents WHERE id = ?'),
    search: db.prepare(
      'SELECT json FROM intents WHERE invoiceId = ? AND createdAt <= ? ORDER BY createdAt DESC',
    ),
    addCharge: db.prepare('INSERT INTO charges (json) VALUES (?)'),
    charges: db.prepare('SELECT json FROM charges ORDER BY seq'),
    countCharges: db.prepare('SELECT count(*) AS n FROM charges'),
    key: db.prepare('SELECT parameters, status, body FROM keys WHERE key = ? AND createdAt > ?'),
    keep: db.prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)'),
    call: db.prepare(
      'INSERT INTO calls VALUES (?, 1) ON CONFLICT (invoiceId) DO UPDATE SET count = count + 1 RETURNING count',
    ),
  };
  const intentOf = (row: unknown) => JSON.parse(String((row as { json: string }).json)) as Intent;

  return {
    putIntent: (intent: Intent): void => {
      statements.putIntent.run(
        intent.id,
        intent.invoiceId,
        intent.status,
        intent.createdAt,
        JSON.stringify(intent),
      );
    },
    intent(id: string): Intent | undefined {
      const row = statements.intent.get(id);
      return row === undefined ? undefined : intentOf(row);
    },
    /** Intents of an invoice that were made before `before` (milliseconds). */
    search: (invoiceId: string, before: number): Intent[] =>
      statements.search.all(invoiceId, before).map(intentOf),
    addCharge: (charge: Charge): void => {
      statements.addCharge.run(JSON.stringify(charge));
    },
    /** The ledger as one JSON text. */
    ledger: (): string =>
      `[${statements.charges
        .all()
        .map((row) => String(row.json))
        .join(',')}]`,
    countCharges: (): number => Number(statements.countCharges.get()?.n ?? 0),
    kept(key: string, now: number): KeptResult | undefined {
      return statements.key.get(key, now - keyLifeMs) as KeptResult | undefined;
    },
    keep: (key: string, { parameters, status, body }: KeptResult, now: number): void => {
      statements.keep.run(key, parameters, status, body, now);
    },
    /** Counts a call for an invoice; 1 for the first. */
    countCall: (invoiceId: string): number => Number(statements.call.get(invoiceId)?.count ?? 1),
    close: (): void => db.close(),
  };
}
