import { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { refuseUnknown } from '../refuseUnknown.ts';
import { type ConnectionPool, connectionPool, lent } from '../sql/connectionPool.ts';
import type { SqlAnswer, SqlConnection } from '../sql/sqlConnection.ts';
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

/** A `Pool` of `pg` that is there already, or of a package that does the same. */
export interface PostgresPool {
  /** Number of its connections. */
  readonly totalCount: number;
  /** `max`: most connections. */
  readonly options?: { readonly max?: number | undefined };
  connect(): Promise<PostgresPoolClient>;
}

/** A connection that the pool lends. */
export interface PostgresPoolClient {
  query(query: { text: string; values: unknown[] }): Promise<{ rows: unknown[]; rowCount: number | null }>;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  removeListener(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  /** True ends the connection. */
  release(destroy?: boolean): void;
}

/** A session that knows which process serves it. */
export interface PostgresSession extends SqlConnection {
  /** Hears what is notified on a channel, until the session ends. The channel is an identifier of lower-case letters and digits. */
  listen: (channel: string, tell: (message: string) => void) => Promise<void>;
  /** The id of that process, as it was when the connection began. A pooler makes one up. */
  readonly processId: number;
}

/** Access to a session of its own. */
export type ConnectPostgres = (signal: AbortSignal) => Promise<PostgresSession>;

/**
 * The sessions of a store: of an address, at most `most` at a time, or of a pool of somebody else, which sets its own limit and
 * gets each back at once.
 *
 * @throws TypeError for what is neither.
 */
export function postgresSessions(
  address: string | PostgresConnection | PostgresPool,
  most: number,
): { pool: ConnectionPool<PostgresSession>; connect: ConnectPostgres; canKeep: boolean } {
  if (typeof address === 'object' && 'totalCount' in address) {
    const connect: ConnectPostgres = (signal) => borrowPostgres(address, signal);
    // A pool of one has none left for requests while somebody keeps it.
    const canKeep = address.options?.max !== 1;
    return { pool: connectionPool(connect, Number.POSITIVE_INFINITY, 0), connect, canKeep };
  }
  if (typeof address === 'object') refuseUnknown(address, optionNames);
  const connect: ConnectPostgres = (signal) => connectPostgres(address, signal);
  return { pool: connectionPool(connect, most), connect, canKeep: true };
}

const optionNames = ['connectionString', 'host', 'port', 'user', 'password', 'database', 'ssl', 'options'];

/** Statements are not prepared: the pool may be behind a pooler. */
async function borrowPostgres(pool: PostgresPool, signal: AbortSignal): Promise<PostgresSession> {
  const client = await lent(pool.connect(), signal);
  const ended = new AbortController();
  const end = (error = new Error('the connection has ended')) => ended.abort(error);
  client.on('error', end);
  client.on('end', end);
  let released = false;

  function release(destroy: boolean): void {
    if (released) return;
    released = true;
    client.removeListener('error', end);
    client.removeListener('end', end);
    client.release(destroy);
  }

  return {
    processId: 'processID' in client && typeof client.processID === 'number' ? client.processID : 0,
    ended: ended.signal,
    destroy() {
      end(new Error('the connection was closed'));
      release(true);
    },
    close: async () => release(false),
    run: (text, values = []) => answerOf(client.query({ text, values: [...values] }), end),
    async listen(channel, tell) {
      client.on('notification', ({ payload = '' }) => tell(payload));
      await client.query({ text: `listen ${channel}`, values: [] });
    },
  };
}

async function answerOf(
  query: Promise<{ rows: unknown[]; rowCount: number | null }>,
  end: (error: Error) => void,
): Promise<SqlAnswer> {
  try {
    const { rows, rowCount } = await query;
    return { rows, matched: rowCount ?? 0 };
  } catch (error) {
    if (error instanceof Error && 'severity' in error && error.severity === 'FATAL') end(error);
    throw error;
  }
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
      run(text, values = []) {
        const query = { text, values: [...values], ...(direct ? { name: nameOf(text) } : {}) };
        return answerOf(client.query(query), end);
      },
      async listen(channel, tell) {
        client.on('notification', ({ payload = '' }) => tell(payload));
        await client.query(`listen ${channel}`);
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
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** True if PostgreSQL refuses the name or the password, the database, the schema or the statement. */
export function postgresDenies(error: unknown): boolean {
  return /^(28|3D|3F|42)/.test(sqlState(error) ?? '');
}

/** Runs a statement; if a table is missing, creates those of the schema first. Many processes may do so at once. */
export async function orCreate<T>(
  connection: SqlConnection,
  schema: readonly string[],
  statement: () => Promise<T>,
): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (sqlState(error) !== undefinedTable) throw error;
  }
  for (const table of schema) {
    try {
      await connection.run(table);
    } catch (error) {
      // `if not exists` does not see a table, or its type, that another transaction is creating.
      if (!createdMeanwhile.includes(sqlState(error))) throw error;
    }
  }
  return statement();
}

const undefinedTable = '42P01';
const createdMeanwhile: readonly (string | undefined)[] = ['23505', '42P07', '42710'];
