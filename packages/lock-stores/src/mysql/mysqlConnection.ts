import { Socket } from 'node:net';
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2';
import type { SqlAnswer, SqlConnection, SqlValue } from '../sql/sqlConnection.ts';
import { untilAborted } from '../untilAborted.ts';

/** Options for a connection with `mysql2`, a part of its own. */
export interface MysqlConnection extends Pick<
  ConnectionOptions,
  'uri' | 'host' | 'port' | 'socketPath' | 'user' | 'database' | 'ssl' | 'enableCleartextPlugin'
> {
  /** A function is asked for each connection, for tokens that expire. */
  password?: string | (() => string | Promise<string>);
}

/**
 * Settings of each session, whatever the server's defaults are: each statement is a transaction of its own, and none waits for
 * more than 5 s for a row or a table that another has locked.
 */
const settings = 'set autocommit = 1, innodb_lock_wait_timeout = 5, lock_wait_timeout = 5';

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
    const opened = createConnection({ ...others, ...(secret === undefined ? {} : { password: secret }) });
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
      else resolve({ rows: [], matched: answer.affectedRows });
    });
  });
}

function called(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}
