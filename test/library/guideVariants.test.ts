/**
 * The guides keep their locks in blobs, and say that any other store will do. Here each guide runs on each store: it must end
 * by itself, and at SIGTERM in the middle of its work.
 */
import { spawn } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { etcdPrograms, startEtcd } from '../support/servers/etcd.ts';
import { mariadbPrograms, startMariadb } from '../support/servers/mariadb.ts';
import { postgresPrograms, startPostgres } from '../support/servers/postgres.ts';
import { redisPrograms, startRedis } from '../support/servers/redis.ts';
import { startServiceBusProcess } from '../support/servers/serviceBus.ts';
import { startZooKeeper, zooKeeperPrograms } from '../support/servers/zooKeeper.ts';
import { noSignals } from '../support/signals.ts';
import { type EmptyProject, emptyProject, packLibrary } from './emptyProject.ts';
import { readPage } from './page.ts';

/** Longest time for which a program may go on after the last line that it has printed (ms). */
const endsWithinMs = 10_000;

const pause = `console.log('working');\n  await new Promise((resolve) => setTimeout(resolve, 3_000));`;

interface Guide {
  page: string;
  /** Program that runs first, if any, and the one that uses locks. */
  before?: string;
  program: string;
  /** Where its work is made to last. */
  work: string;
}

const guides: readonly Guide[] = [
  { page: 'cron-job', program: 'nightly.mts', work: 'console.log(`report for ' },
  { page: 'scheduled-job', before: 'setup.ts', program: 'tick.ts', work: 'console.log(`text to ' },
  { page: 'queue-stage', before: 'order.ts', program: 'worker.ts', work: 'const text = ' },
  { page: 'outbox-destination', program: 'sweep.ts', work: 'const { dispatched, ' },
];

/** A store as a program opens it. */
interface Variant {
  imports: readonly string[];
  store: string;
}

const redisImport = `import { redisLockStore } from '@payonce/lock-stores/redis';`;

const variants: Record<
  string,
  { programs: Readonly<Record<string, unknown>>; open: () => Promise<Variant> }
> = {
  blob: {
    programs: {},
    open: async () => ({
      imports: [
        `import { BlobServiceClient as Blobs } from '@azure/storage-blob';`,
        `import { blobLockStore } from '@payonce/leases/blob';`,
      ],
      store: `blobLockStore(Blobs.fromConnectionString('${cloud.storage}').getContainerClient('locks'))`,
    }),
  },
  redis: {
    programs: redisPrograms,
    async open() {
      const { url } = stack.use(await startRedis());
      return { imports: [redisImport], store: `redisLockStore('${url}')` };
    },
  },
  quorum: {
    programs: redisPrograms,
    async open() {
      const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
      const members = servers.map((server) => `redisLockStore('${stack.use(server).url}')`);
      return {
        imports: [redisImport, `import { quorumLockStore } from '@payonce/lock-stores/quorum';`],
        store: `quorumLockStore([${members.join()}], { memberMs: 2_000 })`,
      };
    },
  },
  postgres: {
    programs: postgresPrograms,
    async open() {
      const { url } = stack.use(await startPostgres());
      return {
        imports: [`import { postgresLockStore } from '@payonce/lock-stores/postgres';`],
        store: `postgresLockStore('${url}')`,
      };
    },
  },
  'postgres-advisory': {
    programs: postgresPrograms,
    async open() {
      const { url } = stack.use(await startPostgres());
      return {
        imports: [`import { postgresAdvisoryLockStore } from '@payonce/lock-stores/postgres-advisory';`],
        store: `postgresAdvisoryLockStore('${url}')`,
      };
    },
  },
  mysql: {
    programs: mariadbPrograms,
    async open() {
      const { url } = stack.use(await startMariadb());
      return {
        imports: [`import { mysqlLockStore } from '@payonce/lock-stores/mysql';`],
        store: `mysqlLockStore('${url}')`,
      };
    },
  },
  etcd: {
    programs: etcdPrograms,
    async open() {
      const { address } = stack.use(await startEtcd());
      return {
        imports: [`import { etcdLockStore } from '@payonce/lock-stores/etcd';`],
        store: `etcdLockStore('${address}')`,
      };
    },
  },
  zookeeper: {
    programs: zooKeeperPrograms,
    async open() {
      const { address } = stack.use(await startZooKeeper(2_000));
      return {
        imports: [`import { zooKeeperLockStore } from '@payonce/lock-stores/zookeeper';`],
        store: `zooKeeperLockStore('${address}')`,
      };
    },
  },
  cosmos: {
    programs: {},
    open: async () => ({
      imports: [
        `import { CosmosClient as Cosmos } from '@azure/cosmos';`,
        `import { cosmosLockStore } from '@payonce/lock-stores/cosmos';`,
      ],
      store: `cosmosLockStore(new Cosmos('${cloud.cosmos}').database('payonce').container('locks'))`,
    }),
  },
  'service-bus': {
    programs: {},
    async open() {
      const queue = { RequiresSession: true, LockDuration: 'PT30S' };
      const { connectionString } = stack.use(await startServiceBusProcess({ locks: queue }));
      return {
        imports: [
          `import { ServiceBusClient } from '@azure/service-bus';`,
          `import { serviceBusLockStore } from '@payonce/lock-stores/service-bus';`,
        ],
        store: `serviceBusLockStore((options) => new ServiceBusClient('${connectionString}', options), 'locks')`,
      };
    },
  },
};

const stack = new AsyncDisposableStack();
let cloud: LocalCloud;
let project: EmptyProject;

beforeAll(async () => {
  const [library, started] = await Promise.all([packLibrary(), startLocalCloud()]);
  stack.use(library);
  cloud = stack.use(started);
  const azure = ['cosmos', 'service-bus', 'storage-blob', 'storage-queue'].map((name) => `@azure/${name}`);
  project = stack.use(emptyProject(library, [...azure, 'zod', '@redis/client', 'pg', 'mysql2']));
}, 120_000);
afterAll(() => stack.disposeAsync());

/** The files of a guide in a folder of the project, on this store, with data of their own. */
function write(
  { page, program, work }: Guide,
  { imports, store }: Variant,
  name: string,
  lasts: boolean,
): string {
  const folder = `${page}-${name}`;
  const files = [
    ...readPage(`packages/${page === 'cron-job' ? 'leases' : 'jobs'}/docs/${page}.md`).files,
  ].map(([file, code]): [string, string] => {
    const uses = basename(file) === program;
    const own = code.replaceAll(
      /'(letters|post|shop|clinics|nightly-report|send-reminders|sweep-outbox|customer-1)'/g,
      `'$1-${page}-${name}'`,
    );
    const there = uses ? onStore(own, imports, store) : own;
    return [join(folder, file), lasts ? there.replace(work, `${pause}\n${work}`) : there];
  });
  expect(files.some(([, code]) => code.includes(pause))).toBe(lasts);
  project.write(new Map(files));
  return folder;
}

function onStore(code: string, imports: readonly string[], store: string): string {
  const [call = ''] =
    /blobLockStore\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/.exec(code.replaceAll(/^import .*$/gm, '')) ?? [];
  expect(call).not.toBe('');
  const [first = '', ...rest] = code
    .replace(call, store)
    .replace(/^import .* from '@payonce\/leases\/blob';\n/m, '')
    .split('\n');
  return [first, ...imports, ...rest].join('\n');
}

/** Runs a program to its end. Rejects if it goes on for too long after a line that it has printed. */
function run(
  file: string,
  { stopAt }: { stopAt?: string } = {},
): Promise<{ ended: string; printed: string }> {
  const env = {
    ...process.env,
    AzureWebJobsStorage: cloud.storage,
    Cosmos: cloud.cosmos,
    WAREHOUSE: 'http://127.0.0.1:1',
  };
  const child = spawn(process.execPath, [basename(file)], { cwd: join(project.folder, dirname(file)), env });
  let printed = '';
  let late: NodeJS.Timeout | undefined;
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        if (stopAt !== undefined && !printed.includes(stopAt) && (printed + text).includes(stopAt))
          child.kill('SIGTERM');
        printed += text;
        clearTimeout(late);
        late = setTimeout(() => {
          child.kill('SIGKILL');
          reject(new Error(`still running ${endsWithinMs / 1000} s after it had printed:\n${printed}`));
        }, endsWithinMs);
      });
    }
    child.once('close', (code, signal) => {
      clearTimeout(late);
      resolve({ ended: signal ?? `${code}`, printed });
    });
  });
}

describe.each(Object.entries(variants))(
  'on %s',
  { concurrent: true, timeout: 240_000 },
  (name, { programs, open }) => {
    const installed = Object.values(programs).every((path) => path !== undefined);
    let variant: Promise<Variant> | undefined;
    const opened = () => (variant ??= open());

    test.runIf(installed).for(guides)('$page ends by itself', async (guide, { expect: expects }) => {
      const folder = write(guide, await opened(), name, false);
      if (guide.before !== undefined)
        expects(await run(join(folder, guide.before))).toMatchObject({ ended: '0' });
      const { ended, printed } = await run(join(folder, guide.program));
      expects(printed).toMatch(/all reports written|north: completed, 1 sent|done|dispatched 0/);
      expects(ended).toBe('0');
    });

    // The SDK of Service Bus keeps the process alive until its client is closed.
    test.runIf(installed && name !== 'service-bus')(
      'a program that closes nothing ends',
      async ({ expect: expects }) => {
        const { imports, store } = await opened();
        const code = `
      ${imports.join('\n')}
      import { createLocks } from '@payonce/leases';
      const lease = await createLocks(${store}).tryAcquire('closes nothing', { instance: 'a', job: 'b' });
      lease.assertHeld();
      await lease.release();
      console.log('released');
    `;
        project.write(new Map([[`${name}.mjs`, code]]));
        expects(await run(`${name}.mjs`)).toEqual({ ended: '0', printed: 'released\n' });
      },
    );

    test.runIf(installed && !noSignals).for(guides)(
      '$page ends at SIGTERM',
      async (guide, { expect: expects }) => {
        const folder = write(guide, await opened(), `${name}-stopped`, true);
        if (guide.before !== undefined)
          expects(await run(join(folder, guide.before))).toMatchObject({ ended: '0' });
        const { printed } = await run(join(folder, guide.program), { stopAt: 'working' });
        expects(printed).toContain('working');
      },
    );
  },
);
