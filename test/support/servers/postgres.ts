import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findProgram } from './findProgram.ts';
import { freePort } from './freePort.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

const folders = ['/usr/lib/postgresql/*/bin', '/opt/homebrew/opt/postgresql*/bin'];

export const postgresPrograms = {
  postgres: findProgram('postgres', folders),
  initdb: findProgram('initdb', folders),
};

export interface PostgresServer extends ServerProcess {
  port: number;
  /** `postgres://test@127.0.0.1:port/postgres` */
  url: string;
  /** Runs statements on a connection of its own, for what tests do behind a store's back. */
  run: (text: string, values?: unknown[]) => Promise<unknown[]>;
}

/** Starts PostgreSQL with settings such as `{ max_connections: '300' }`. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const { postgres, initdb } = postgresPrograms;
  if (postgres === undefined || initdb === undefined) throw new Error('PostgreSQL is not installed');
  const port = await freePort();
  const url = `postgres://test@127.0.0.1:${port}/postgres`;
  const data = (folder: string) => join(folder, 'data');

  async function run(text: string, values: unknown[] = []): Promise<unknown[]> {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    try {
      await client.connect();
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    ...settings,
  };
  const server = await startServer({
    name: 'postgres',
    command: postgres,
    args: (folder) => [
      '-D',
      data(folder),
      ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    async prepare(folder, as) {
      const args = [
        '-D',
        data(folder),
        '-U',
        'test',
        '-A',
        'trust',
        '-E',
        'UTF8',
        '--no-locale',
        '--no-sync',
      ];
      await promisify(execFile)(initdb, args, as);
    },
    ready: () => run('select 1'),
    neverRoot: true,
  });

  /** Sends a signal to the server and to each of its sessions, which are processes of their own. */
  function signal(name: NodeJS.Signals): void {
    const root = Number(readFileSync(join(data(server.folder), 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
    // Stopped, it starts no further ones while they are counted.
    process.kill(root, 'SIGSTOP');
    const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    for (const line of listed.split('\n')) {
      const [pid = 0, parent] = line.trim().split(/\s+/).map(Number);
      if (parent === root) process.kill(pid, name);
    }
    process.kill(root, name);
  }

  return {
    ...server,
    port,
    url,
    run,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async kill() {
      // A session that outlives the first process keeps the next from starting.
      signal('SIGKILL');
      await server.kill();
    },
  };
}
