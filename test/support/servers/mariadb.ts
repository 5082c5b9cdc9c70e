import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { findProgram } from './findProgram.ts';
import { freePort } from './freePort.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

const folders = ['/usr/sbin', '/opt/homebrew/opt/mariadb/bin'];

export const mariadbPrograms = {
  mariadbd: findProgram('mariadbd', folders),
  'mariadb-install-db': findProgram('mariadb-install-db', folders),
};

export interface MariadbServer extends ServerProcess {
  port: number;
  /** `mysql://root@127.0.0.1:port/test` */
  url: string;
  /** Runs a statement on a connection of its own, for what tests do behind a store's back. */
  run: (statement: string, values?: (string | Buffer)[]) => Promise<RowDataPacket[]>;
}

/** Starts MariaDB with options such as `{ max_connections: '300' }`. */
export async function startMariadb(options: Readonly<Record<string, string>> = {}): Promise<MariadbServer> {
  const { mariadbd, 'mariadb-install-db': install } = mariadbPrograms;
  if (mariadbd === undefined || install === undefined) throw new Error('MariaDB is not installed');
  const port = await freePort();
  const at = { host: '127.0.0.1', port, user: 'root' };

  async function run(statement: string, values: (string | Buffer)[] = []): Promise<RowDataPacket[]> {
    const connection = await createConnection({ ...at, database: 'test', connectTimeout: 5_000 });
    try {
      const [rows] = await connection.query<RowDataPacket[]>(statement, values);
      return rows;
    } finally {
      connection.destroy();
    }
  }

  async function createDatabase(): Promise<void> {
    const connection = await createConnection({ ...at, connectTimeout: 5_000 });
    try {
      await connection.query('create database if not exists test');
    } finally {
      connection.destroy();
    }
  }

  const all = { port: String(port), 'bind-address': '127.0.0.1', ...options };
  const server = await startServer({
    name: 'mariadb',
    command: mariadbd,
    args: (folder) => [
      '--no-defaults',
      `--datadir=${join(folder, 'data')}`,
      `--socket=${join(folder, 'socket')}`,
      ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
    ],
    async prepare(folder, as) {
      const args = [
        '--no-defaults',
        `--datadir=${join(folder, 'data')}`,
        '--auth-root-authentication-method=normal',
        '--skip-test-db',
        '--skip-name-resolve',
      ];
      // In `/tmp`, two that are installed at once delete the temporary tables of each other.
      const env = { ...process.env, TMPDIR: folder };
      await promisify(execFile)(install, args, { ...as, cwd: folder, env });
    },
    ready: createDatabase,
    neverRoot: true,
  });
  return { ...server, port, url: `mysql://root@127.0.0.1:${port}/test`, run };
}
