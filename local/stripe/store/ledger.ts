import type { DatabaseSync } from 'node:sqlite';

/** A ledger row: one charge that moved money. */
export interface LedgerRow {
  id: string;
  invoiceId: string | null;
  /** In the units of Stripe's API, as requested. */
  amount: number;
  currency: string;
  idempotencyKey: string | null;
  paymentIntent: string;
  status: 'succeeded';
  /** When the money moved: ISO 8601. */
  createdAt: string;
}

export function openLedger(db: DatabaseSync) {
  db.exec('CREATE TABLE IF NOT EXISTS charges (number INTEGER PRIMARY KEY, json TEXT)');
  const add = db.prepare('INSERT INTO charges (json) VALUES (?)');
  const all = db.prepare('SELECT json FROM charges ORDER BY number');
  const count = db.prepare('SELECT count(*) AS count FROM charges');
  return {
    add(row: LedgerRow): void {
      add.run(JSON.stringify(row));
    },
    /** All rows as a JSON array, oldest first. */
    json: (): string =>
      `[${all
        .all()
        .map(({ json }) => String(json))
        .join(',')}]`,
    count: (): number => Number(count.get()?.count),
  };
}
