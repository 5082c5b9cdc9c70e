import { Socket } from 'node:net';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { SqlConnection } from '../sql/sqlConnection.ts';
import { untilAborted } from '../untilAborted.ts';

/** Options for a connection with `pg`, a part of its own: https://node-postgres.com/apis/client. */
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
  /** The id of that process, as it was when the connection began. A pooler makes one up. */
  readonly processId: number;
}

/**
 * Connects, and prepares each statement the first time that it runs: that halves its time. Behind a pooler, where the next
 * statement may run in another session, statements are not prepared.
 */
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
  // Without a listener, a lost connection crashes the process.
  client.on('error', end);
  client.on('end', () => end(new Error('the connection has ended')));

  function destroy(): void {
    end(new Error('the connection was closed'));
    client.connection.stream.destroy();
  }

  async function open(): Promise<PostgresSession> {
    await client.connect();
    const { stream } = client.connection;
    if (stream instanceof Socket) stream.unref();
    const processId = 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const direct = rows[0]?.pid === processId;
    const names = new Map<string, string>();

    function nameOf(text: string): string {
      const name = names.get(text) ?? `payonce ${names.size}`;
      names.set(text, name);
      return name;
    }

    return {
      processId,
      ended: ended.signal,
      destroy,
      close: () => client.end(),
      async run(text, values = []) {
        try {
          const query = { text, values: [...values], ...(direct ? { name: nameOf(text) } : {}) };
          const { rows, rowCount } = await client.query(query);
          return { rows, matched: rowCount ?? 0 };
        } catch (error) {
          if (error instanceof DatabaseError && error.severity === 'FATAL') end(error);
          throw error;
        }
      },
    };
  }

  try {
    return await untilAborted(signal, open);
  } catch (error) {
    destroy();
    throw error;
  }
}

/** The five letters in an error of the server: https://www.postgresql.org/docs/current/errcodes-appendix.html. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** True if PostgreSQL refuses the name or the password, the database, the schema or the statement. */
export function postgresDenies(error: unknown): boolean {
  return /^(28|3D|3F|42)/.test(sqlState(error) ?? '');
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
    // `if not exists` does not see a table, or its type, that another transaction is creating.
    if (!createdMeanwhile.includes(sqlState(error))) throw error;
  }
  return statement();
}

const undefinedTable = '42P01';
const createdMeanwhile: readonly (string | undefined)[] = ['23505', '42P07', '42710'];
