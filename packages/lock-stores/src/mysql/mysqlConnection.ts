import { Socket } from 'node:net';
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2';
import { lent } from '../sql/connectionPool.ts';
import type { SqlAnswer, SqlConnection, SqlValue } from '../sql/sqlConnection.ts';
import { untilAborted } from '../untilAborted.ts';

/** Options for a connection with `mysql2`, a part of its own. */
export interface MysqlConnection {
  /** `mysql://user:password@host:port/database` */
  uri?: string;
  host?: string;
  port?: number;
  socketPath?: string;
  user?: string;
  /** A function is asked for each connection, for tokens that expire. */
  password?: string | (() => string | Promise<string>);
  database?: string;
  /** Options of `tls.connect`, or the name of a profile. */
  ssl?: string | object;
  enableCleartextPlugin?: boolean;
}

/** A pool of `mysql2/promise` that is there already. */
export interface MysqlPromisePool {
  getConnection(): Promise<MysqlPoolConnection>;
}

/** A pool of `mysql2` or of `mysql2/promise`. */
export type MysqlPool = MysqlPromisePool | { promise(): MysqlPromisePool };

/** A connection that the pool lends. */
export interface MysqlPoolConnection {
  execute(statement: string, values: SqlValue[]): Promise<[unknown, unknown]>;
  release(): void;
  destroy(): void;
}

/**
 * Settings of each session, whatever the server's defaults are: each statement is a transaction of its own, and none waits for
 * more than 5 s for a row or a table that another has locked.
 */
const settings = 'set autocommit = 1, innodb_lock_wait_timeout = 5, lock_wait_timeout = 5';

/** A pool lends a connection as it is: its session may leave each statement uncommitted, which the first look at it finds out. */
export async function borrowMysql(
  given: MysqlPool,
  checked: WeakSet<object>,
  signal: AbortSignal,
): Promise<SqlConnection> {
  const pool = 'promise' in given ? given.promise() : given;
  const connection = await lent(pool.getConnection(), signal);
  const ended = new AbortController();
  let released = false;
  const once = (give: () => void) => {
    if (!released) give();
    released = true;
  };
  const session: SqlConnection = {
    ended: ended.signal,
    async run(statement, values = []) {
      const [answer] = await connection.execute(statement, [...values]);
      return Array.isArray(answer) ? { rows: answer, matched: 0 } : changes(answer as ResultSetHeader);
    },
    destroy() {
      ended.abort(new Error('the connection was closed'));
      once(() => connection.destroy());
    },
    close: async () => once(() => connection.release()),
  };
  const underneath: unknown = Reflect.get(connection, 'connection');
  const known = typeof underneath === 'object' && underneath !== null ? underneath : connection;
  if (checked.has(known)) return session;
  try {
    const [row] = (await untilAborted(signal, () => session.run('select @@autocommit as own'))).rows;
    if (Number(Object(row).own) !== 1) {
      throw new RangeError('This pool of MySQL has autocommit off: its locks would never be committed');
    }
    checked.add(known);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}

function changes({ affectedRows, insertId }: ResultSetHeader): SqlAnswer {
  return { rows: [], matched: affectedRows, counted: insertId };
}

export async function connectMysql(
  address: string | MysqlConnection,
  signal: AbortSignal,
): Promise<SqlConnection> {
  const { password, ...others } = typeof address === 'string' ? { uri: address } : address;
  const ended = new AbortController();
  let connection: Connection | undefined;

  function socket(): Socket | undefined {
    if (connection === undefined || !('stream' in connection)) return undefined;
    return connection.stream instanceof Socket ? connection.stream : undefined;
  }

  function destroy(): void {
    ended.abort(new Error('the connection was closed'));
    // Its own `destroy` waits for the server to close the connection too.
    socket()?.destroy();
  }

  async function open(): Promise<SqlConnection> {
    const secret = typeof password === 'function' ? await password() : password;
    signal.throwIfAborted();
    const options: ConnectionOptions = others;
    const opened = createConnection({ ...options, ...(secret === undefined ? {} : { password: secret }) });
    connection = opened;
    // Without a listener, a lost connection crashes the process.
    opened.on('error', (error: Error) => ended.abort(error));
    opened.on('end', () => ended.abort(new Error('the server has closed the connection')));
    await called((done) => opened.connect(done));
    await called((done) => opened.query(settings, done));
    socket()?.unref();
    return {
      ended: ended.signal,
      destroy,
      close: () => called((done) => opened.end(done)),
      run: (statement, values = []) => run(opened, statement, values),
    };
  }

  try {
    return await untilAborted(signal, open);
  } catch (error) {
    destroy();
    throw error;
  }
}

function run(connection: Connection, statement: string, values: readonly SqlValue[]): Promise<SqlAnswer> {
  return new Promise((resolve, reject) => {
    connection.execute<RowDataPacket[] | ResultSetHeader>(statement, [...values], (error, answer) => {
      if (error !== null) reject(error);
      else if (Array.isArray(answer)) resolve({ rows: answer, matched: 0 });
      else resolve(changes(answer));
    });
  });
}

function called(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}
