import { Client, type ClientConfig, DatabaseError } from 'pg';
import { untilAborted } from '../untilAborted.ts';
import type { SqlConnection } from './sqlConnection.ts';

/** How to connect with `pg`, a part of its own options: https://node-postgres.com/apis/client. */
export interface PostgresConnection {
  /** `postgres://user:password@host:port/database` */
  connectionString?: string;
  host?: string;
  port?: number;
  user?: string;
  /** A function is asked for each connection, for tokens that expire. */
  password?: string | (() => string | Promise<string>);
  database?: string;
  /** True, or options of `tls.connect`. */
  ssl?: boolean | object;
  application_name?: string;
  /** Milliseconds after which the server ends a statement, 5,000 unless told; false leaves it to the server. */
  statement_timeout?: number | false;
  /** Settings of the session, `-c synchronous_commit=on` unless told. Empty leaves them to the server. */
  options?: string;
}

/** A session that knows which process serves it. */
export interface PostgresSession extends SqlConnection {
  /** The process id that the server gave when the connection began. */
  readonly processId: number;
}

export async function connectPostgres(
  address: string | PostgresConnection,
  signal: AbortSignal,
): Promise<PostgresSession> {
  const given = typeof address === 'string' ? { connectionString: address } : address;
  const config: ClientConfig = {
    fallback_application_name: 'payonce',
    statement_timeout: 5_000,
    options: '-c synchronous_commit=on',
    keepAlive: true,
    ...given,
  };
  const client = new Client(config);
  const ended = new AbortController();
  const end = (error: Error) => ended.abort(error);
  // Without a listener, a lost connection ends the process.
  client.on('error', end);
  client.on('end', () => end(new Error('the connection has ended')));

  function destroy(): void {
    end(new Error('the connection was given up'));
    client.connection.stream.destroy();
  }

  try {
    await untilAborted(signal, () => client.connect());
  } catch (error) {
    destroy();
    throw error;
  }
  return {
    processId: 'processID' in client && typeof client.processID === 'number' ? client.processID : 0,
    ended: ended.signal,
    destroy,
    close: () => client.end(),
    async run(text, values = []) {
      try {
        const { rows, rowCount } = await client.query({ text, values: [...values] });
        return { rows, matched: rowCount ?? 0 };
      } catch (error) {
        if (error instanceof DatabaseError && error.severity === 'FATAL') end(error);
        throw error;
      }
    },
  };
}

/** The five letters in an error of the server: https://www.postgresql.org/docs/current/errcodes-appendix.html. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** Runs a statement; if its table is missing, creates that first. Many processes may do so at once. */
export async function orCreate<T>(
  connection: SqlConnection,
  schema: string,
  statement: () => Promise<T>,
): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (sqlState(error) !== undefinedTable) throw error;
  }
  try {
    await connection.run(schema);
  } catch (error) {
    // `if not exists` does not see a table that another transaction is creating.
    if (!createdMeanwhile.includes(sqlState(error))) throw error;
  }
  return statement();
}

const undefinedTable = '42P01';
const createdMeanwhile: readonly (string | undefined)[] = ['23505', '42P07'];
