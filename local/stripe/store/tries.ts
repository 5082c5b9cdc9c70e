import type { DatabaseSync } from 'node:sqlite';

/** Opens the table that counts the tries of each invoice with each payment method. */
export function openTries(db: DatabaseSync) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS tries (
      invoiceId TEXT, paymentMethod TEXT, count INTEGER, PRIMARY KEY (invoiceId, paymentMethod)
    ) WITHOUT ROWID`);
  const count = db.prepare(`
    INSERT INTO tries VALUES (?, ?, 1)
    ON CONFLICT (invoiceId, paymentMethod) DO UPDATE SET count = count + 1 RETURNING count`);
  return {
    /** Counts one more try and returns the count, from 1. */
    count: (invoiceId: string, method: string): number => Number(count.get(invoiceId, method)?.count),
  };
}
