import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { findProgram } from './findProgram.ts';
import { freePort } from './freePort.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

export const pgbouncerPrograms = { pgbouncer: findProgram('pgbouncer', ['/usr/sbin']) };

export interface Pgbouncer extends ServerProcess {
  url: string;
}

/** Starts PgBouncer with transaction pooling and one connection to the server, which all its clients share. */
export async function startPgbouncer(serverPort: number): Promise<Pgbouncer> {
  const { pgbouncer } = pgbouncerPrograms;
  if (pgbouncer === undefined) throw new Error('PgBouncer is not installed');
  const port = await freePort();
  const url = `postgres://test@127.0.0.1:${port}/postgres`;
  const settings = `
    [databases]
    * = host=127.0.0.1 port=${serverPort} user=test
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = any
    pool_mode = transaction
    default_pool_size = 1
    ignore_startup_parameters = statement_timeout, options
  `;
  const server = await startServer({
    name: 'pgbouncer',
    command: pgbouncer,
    args: (folder) => [join(folder, 'pgbouncer.ini')],
    prepare: (folder) => writeFile(join(folder, 'pgbouncer.ini'), settings.replaceAll(/^ +/gm, '')),
    async ready() {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
      try {
        await client.connect();
        await client.query('select 1');
      } finally {
        await client.end();
      }
    },
    neverRoot: true,
  });
  return { ...server, url };
}
