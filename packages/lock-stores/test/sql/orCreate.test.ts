import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { orCreate } from '../../src/postgres/postgresConnection.ts';
import type { SqlConnection } from '../../src/sql/sqlConnection.ts';

function answered(code: string): DatabaseError {
  return Object.assign(new DatabaseError(`error ${code}`, 0, 'error'), { code });
}

/** Runs a statement whose table is missing at first, on a server that answers its creation with an error. */
function missing(code: string): Promise<string> {
  const connection: SqlConnection = {
    ended: new AbortController().signal,
    destroy() {},
    close: async () => {},
    run: () => Promise.reject(answered(code)),
  };
  let there = false;
  return orCreate(connection, ['create table'], async () => {
    if (there) return 'done';
    there = true;
    throw answered('42P01');
  });
}

// A row of its catalogue, the table, the type of the table: whichever it sees of the other transaction first.
test.each(['23505', '42P07', '42710'])(
  'a table that another has created meanwhile serves (%s)',
  async (code) => {
    expect(await missing(code)).toBe('done');
  },
);

test('any other error of its creation is passed on', async () => {
  await expect(missing('42501')).rejects.toThrow('error 42501');
});
