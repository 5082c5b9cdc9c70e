import { randomUUID } from 'node:crypto';
import { checkOwner, type LeaseOwner } from '@payonce/leases';
import { fieldsOf, listOf } from '../answers.ts';
import { recordTail } from '../recordText.ts';
import { asciiJson, keyHash, tableName, toAscii } from '../sql/lockNames.ts';
import { lineStatements } from './lineStatements.ts';
import { sqlState } from './postgresConnection.ts';

/** A client of `pg` that is in a transaction. */
export interface PostgresTransaction {
  query(query: { text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/**
 * Takes a lock of `postgresLockStore` in your own transaction, after `begin`: you have it until that ends, by `commit` or `rollback`,
 * or with its connection. What the transaction writes is then written under the lock or not at all, so it needs no renewal and no
 * fence. Resolves with the fence of this tenure, for what is written elsewhere; null if the lock is held. Others find it held, too.
 *
 * Not inside of a savepoint that may be rolled back: that frees the lock. After a rollback its fence may be given out again, so write
 * elsewhere only once it is committed. Until then `listLocks` shows the lock as before.
 *
 * The tables must be there (`postgresLockTables`). The first who ever takes this key makes others wait, instead of telling them, until
 * the transaction has ended.
 *
 * @throws Error outside of a transaction, RangeError for a key, an owner or a table that is none, and whatever the client throws.
 */
export async function lockInTransaction(
  client: PostgresTransaction,
  key: string,
  owner: LeaseOwner,
  { table = 'payonce_locks' }: { table?: string } = {},
): Promise<number | null> {
  checkOwner(owner);
  const { takeInTransaction, onlyInTransaction } = statementsOf(table);
  const tail = asciiJson(recordTail({ owner, since: Date.now(), leaseMs: 1 }));
  const values = [keyHash(key), toAscii(key), tail, randomUUID()];
  try {
    await client.query({ text: onlyInTransaction, values: [] });
  } catch (error) {
    if (sqlState(error) !== noActiveTransaction) throw error;
    throw new Error('lockInTransaction needs a transaction: call it after `begin`', { cause: error });
  }
  const [row] = answers((await client.query({ text: takeInTransaction, values })).rows);
  return row?.fence ?? null;
}

/**
 * The statements that create the tables of `postgresLockStore`, for an administrator. The store runs them itself if a table is missing
 * and it may. @throws RangeError if the table name is not `table` or `schema.table` in lower case.
 */
export function postgresLockTables(table = 'payonce_locks'): string[] {
  return statementsOf(table).schema;
}

const statementsOf = (table: string) =>
  lineStatements(tableName(table, '"'), tableName(`${table}_line`, '"'));

const noActiveTransaction = '25P01';

/** A `bigint` comes as a text. */
const answers = listOf(fieldsOf<{ fence: number }>({ fence: Number }));
