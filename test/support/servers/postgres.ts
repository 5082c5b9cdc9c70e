import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { stop } from '../signals.ts';
import { until } from '../until.ts';
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

  let frozen: number[] = [];

  /** The server, which it stops so that it starts no further sessions, and the processes that serve them. */
  async function stopAll(): Promise<number[]> {
    const root = Number(readFileSync(join(data(server.folder), 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
    await stop(root);
    const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    const pids = listed.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
    return [root, ...pids.flatMap(([pid = 0, parent]) => (parent === root ? [pid] : []))];
  }

  return {
    ...server,
    port,
    url,
    run,
    async freeze() {
      frozen = await stopAll();
      await Promise.all(frozen.map(stop));
    },
    thaw() {
      for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT');
    },
    async kill() {
      // A session that outlives the first process keeps the next from starting.
      const pids = await stopAll();
      for (const pid of pids.toReversed()) process.kill(pid, 'SIGKILL');
      await server.kill();
      await until(
        async () => pids.filter(isAlive),
        (alive) => alive.length === 0,
        { withinMs: 30_000 },
      );
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
