import type { Charge } from '../charge.ts';
import type { Customer } from '../customer.ts';
import type { Dispute } from '../dispute.ts';
import type { Refund } from '../refund.ts';
import { openDatabase } from './database.ts';
import { openDeliveries } from './deliveries.ts';
import { openDue } from './due.ts';
import { openEvents } from './events.ts';
import { openIntents } from './intents.ts';
import { openKeys } from './keys.ts';
import { openLedger } from './ledger.ts';
import { openObjects } from './objects.ts';
import { openSettings } from './settings.ts';
import { openTries } from './tries.ts';

export type Store = ReturnType<typeof openStore>;

/**
 * All data, in a file in the folder or in memory. In a folder, every answered call survives the death of the
 * process by any signal.
 */
export function openStore(folder: string | undefined) {
  const db = openDatabase(folder);
  const due = openDue(db);
  const tables = {
    intents: openIntents(db),
    charges: openObjects<Charge>(db, 'chargeObjects'),
    refunds: openObjects<Refund>(db, 'refunds'),
    disputes: openObjects<Dispute>(db, 'disputes'),
    customers: openObjects<Customer>(db, 'customers'),
    ledger: openLedger(db),
    keys: openKeys(db),
    tries: openTries(db),
    due,
    events: openEvents(db),
    deliveries: openDeliveries(db),
    settings: openSettings(db),
  };
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  return {
    ...tables,
    /** Runs `work` in one transaction. */
    transaction<T>(work: () => T): T {
      begin.run();
      try {
        const result = work();
        commit.run();
        return result;
      } catch (error) {
        db.exec('ROLLBACK');
        due.forget();
        throw error;
      }
    },
    close: (): void => db.close(),
  };
}
