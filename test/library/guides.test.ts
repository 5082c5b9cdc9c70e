import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import { createLocks } from '../../packages/leases/src/index.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { describeWith } from '../support/servers/findProgram.ts';
import { redisPrograms, startRedis } from '../support/servers/redis.ts';
import { until } from '../support/until.ts';
import {
  type EmptyProject,
  emptyProject,
  type PackedLibrary,
  packageNames,
  packLibrary,
} from './emptyProject.ts';
import { expectedOutput, importedBy, type Page, readExports, readPage } from './page.ts';

const stack = new AsyncDisposableStack();
let library: PackedLibrary;
let cloud: LocalCloud;

beforeAll(async () => {
  const [packed, started] = await Promise.all([packLibrary(), startLocalCloud()]);
  library = stack.use(packed);
  cloud = stack.use(started);
}, 120_000);
afterAll(() => stack.disposeAsync());

/** The settings of the guides' programs. */
const settings = () => ({ AzureWebJobsStorage: cloud.storage, Cosmos: cloud.cosmos });

/** A project with this code, which compiles, and these packages. */
async function projectOf({ files, packages }: Pick<Page, 'files' | 'packages'>): Promise<EmptyProject> {
  const project = stack.use(emptyProject(library, packages));
  project.write(files);
  expect(await project.complaints()).toBe('');
  return project;
}

/** Runs the commands that a page shows, one after another: each must print what the page says. */
async function runShown(
  project: EmptyProject,
  page: Page,
  {
    env = {},
    before = async () => {},
    inOrder = (lines) => lines,
  }: {
    env?: NodeJS.ProcessEnv;
    before?: (command: string) => Promise<void>;
    /** Sorts what may be printed in any order. */
    inOrder?: (lines: string[]) => string[];
  } = {},
): Promise<void> {
  for (const { command, output } of page.shown) {
    const [, file = '', args = ''] = /^node (\S+) ?(.*)$/.exec(command) ?? [];
    await before(command);
    const printed = await project.run(file, args.split(' ').filter(Boolean), { ...settings(), ...env });
    expect([command, ...inOrder(printed.split('\n'))]).toEqual([command, ...inOrder(output.split('\n'))]);
  }
}

describe('the guides', { concurrent: true, timeout: 180_000 }, () => {
  test('cron-job', async () => {
    const page = readPage('packages/leases/docs/cron-job.md');
    expect(page.shown).toHaveLength(2);
    await using locks = createLocks(blobLockStore(cloud.blobs.getContainerClient('locks')));
    const another = { instance: 'another machine', job: 'nightly-report' };
    let first = true;
    await runShown(await projectOf(page), page, {
      async before() {
        if (!first) expect(await locks.tryAcquire('nightly-report', another)).not.toBeNull();
        first = false;
      },
    });
  });

  test('scheduled-job', async () => {
    const page = readPage('packages/jobs/docs/scheduled-job.md');
    expect(page.shown).toHaveLength(3);
    // The groups work side by side.
    await runShown(await projectOf(page), page, { inOrder: (lines) => lines.toSorted() });
    const { resources } = await cloud.cosmosClient
      .database('clinics')
      .container('runs')
      .items.query<unknown>('SELECT c.job, c.status, c.groups FROM c')
      .fetchAll();
    const group = { status: 'completed', counts: { sent: 1, contended: 0 } };
    expect(resources).toMatchObject([
      { job: 'send-reminders', status: 'completed', groups: { north: group, south: group } },
    ]);
  });

  test('queue-stage', async () => {
    const page = readPage('packages/jobs/docs/queue-stage.md');
    expect(page.shown).toHaveLength(4);
    const project = await projectOf(page);
    await runShown(project, page);
    const letter = cloud.blobs.getContainerClient('letters').getBlobClient('customer-1.txt');
    expect((await letter.downloadToBuffer()).toString()).toBe('Dear Ada, welcome!');

    const queue = cloud.queues.getQueueClient('letters');
    const next = { resourceId: 'customer-2', stage: 'welcome-letter', input: { name: 'Bob' } };
    for (const text of ['no work item', JSON.stringify(next)])
      await queue.sendMessage(Buffer.from(text).toString('base64'));
    expect(await project.run('worker.ts', [], settings())).toBe('done');
    expect((await queue.getProperties()).approximateMessagesCount).toBe(1);
  });

  test('outbox-destination', async () => {
    const page = readPage('packages/jobs/docs/outbox-destination.md');
    expect(page.shown).toHaveLength(3);
    const warehouse = await startWarehouse();
    await runShown(await projectOf(page), page, {
      env: { WAREHOUSE: warehouse.url },
      async before(command) {
        warehouse.open = !command.includes('order-2');
        if (command === 'node sweep.ts') await isDue('order-2-placed');
      },
    });
    expect(warehouse.received.map(({ key, body }) => ({ key, ...JSON.parse(body) }) as unknown)).toEqual([
      { key: 'order-1-placed', id: 'order-1', customerId: 'customer-1', book: 'Middlemarch' },
      { key: 'order-2-placed', id: 'order-2', customerId: 'customer-1', book: 'Middlemarch' },
    ]);
  });
});

describe('the READMEs', { concurrent: true, timeout: 180_000 }, () => {
  const readmes = packageNames.map((name) => `packages/${name}/README.md`);
  const snippets = readmes.flatMap((readme) => [...readPage(readme).files]);
  /** True for the program that a README runs before the others. */
  const isSetup = ([name]: (typeof snippets)[number]) => name === 'setup.mjs';
  const exported = new Map(readmes.flatMap(readExports).map(({ name, client }) => [name, client]));
  beforeAll(async () => {
    for (const [name, code] of snippets.filter(isSetup)) await compilesAndRuns(name, code);
  }, 60_000);

  test('have a snippet for each part', () => {
    const used = new Set(snippets.flatMap(([, code]) => importedBy(code).ours));
    const parts = ['leases', 'leases/memory', 'jobs/claims', 'jobs/outbox', 'jobs/work-items', 'jobs/runs'];
    expect(parts.filter((part) => !used.has(`@payonce/${part}`))).toEqual([]);
  });

  const needsRedis = ([, code]: (typeof snippets)[number]) =>
    importedBy(code).ours.includes('@payonce/lock-stores/redis');
  const what = '%s compiles as TypeScript, and runs with no more packages than it names';
  test.each(snippets.filter((one) => !isSetup(one) && !needsRedis(one)))(what, (name, code) =>
    compilesAndRuns(name, code),
  );

  describeWith(redisPrograms, 'on Redis', () => {
    test.each(snippets.filter(needsRedis))(what, async (name, code) => {
      await using redis = await startRedis();
      await compilesAndRuns(name, code, { REDIS: redis.url });
    });
  });

  async function compilesAndRuns(name: string, code: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
    const imported = importedBy(code);
    const clients = imported.ours.flatMap((one) => exported.get(one) ?? []);
    const files = new Map([
      [name, code],
      [name.replace('.mjs', '.ts'), code],
    ]);
    const project = await projectOf({ packages: [...clients, ...imported.packages], files });
    expect(expectedOutput(code)).not.toBe('');
    expect(await project.run(name, [], { ...settings(), ...env })).toBe(expectedOutput(code));
  }
});

/** Waits until the next try of an outbox message is due. */
async function isDue(id: string): Promise<void> {
  const orders = cloud.cosmosClient.database('shop').container('orders');
  await until(
    async () => {
      const { resource } = await orders.item(id, 'customer-1').read<{ nextAttemptAt: string }>();
      return resource?.nextAttemptAt ?? '';
    },
    (at) => at !== '' && Date.parse(at) <= Date.now(),
  );
}

/** A receiver of orders; `open`: whether it takes them. */
async function startWarehouse() {
  const received: { key: string | undefined; body: string }[] = [];
  const warehouse = { url: '', open: true, received };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  warehouse.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return warehouse;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    if (warehouse.open) received.push({ key: String(request.headers['idempotency-key']), body });
    response.writeHead(warehouse.open ? 204 : 503).end();
  }
}
