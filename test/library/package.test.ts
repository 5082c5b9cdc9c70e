import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { filesUnder } from '../../scripts/compile.ts';
import { runNpm } from '../../scripts/library/runNpm.ts';
import { runProgram } from '../support/runProgram.ts';
import { describeWith } from '../support/servers/findProgram.ts';
import { redisPrograms, startRedis } from '../support/servers/redis.ts';
import {
  type CompilerOptions,
  type EmptyProject,
  emptyProject,
  type PackedLibrary,
  packageNames,
  packLibrary,
  projectIn,
} from './emptyProject.ts';
import { readExports } from './page.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const stack = new AsyncDisposableStack();
let library: PackedLibrary;
/** The tarball and one client, as npm installs them into an empty folder. */
let installed: EmptyProject;

beforeAll(async () => {
  library = stack.use(await packLibrary());
  installed = stack.use(projectIn(mkdtempSync(join(tmpdir(), 'payonce-installed-'))));
  writeFileSync(join(installed.folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  npmInstall(installed.folder, ...library.tarballs, '@redis/client');
}, 120_000);
afterAll(() => stack.disposeAsync());

function npmInstall(folder: string, ...names: string[]): void {
  runNpm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--silent', ...names], folder);
}

const manifestSchema = z.object({
  exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
  peerDependencies: z.record(z.string(), z.string()),
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
});
const manifestOf = (name: (typeof packageNames)[number]) =>
  manifestSchema.parse(JSON.parse(readFileSync(join(library.folderOf(name), 'package.json'), 'utf8')));
/** Files that import all of these, as ES modules and as CommonJS. */
const importAll = (names: readonly string[], kind: 'ts' | 'js') => {
  const lines = (line: (name: string, n: number) => string) => names.map(line).join('\n');
  return new Map([
    [`all.m${kind}`, lines((name, n) => `export * as part${n} from '${name}';`)],
    [
      `all.c${kind}`,
      lines((name, n) => (kind === 'ts' ? `import part${n} = require('${name}');` : `require('${name}');`)),
    ],
  ]);
};
const listed = (name: string) => readExports(`packages/${name}/README.md`);

describe.each(packageNames)('the tarball of %s', (name) => {
  test('holds compiled code with its declarations, its pages and the licence', () => {
    const outside = filesUnder(library.folderOf(name)).filter((file) => !/^dist\/.+\.(js|d\.ts)$/.test(file));
    const pages = readdirSync(join(root, 'packages', name, 'docs')).map((page) => `docs/${page}`);
    expect(outside).toEqual(['LICENSE', 'README.md', ...pages, 'package.json'].toSorted());
  });

  test('holds no syntax that Node 22 cannot read', () => {
    const folder = library.folderOf(name);
    const code = filesUnder(folder).filter((file) => file.endsWith('.js'));
    expect(code.filter((file) => /\busing \w+ =/.test(readFileSync(join(folder, file), 'utf8')))).toEqual([]);
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      engines: { node: '>=22.12' },
    });
  });

  test('makes every client optional', () => {
    const { peerDependencies, peerDependenciesMeta } = manifestOf(name);
    expect(Object.keys(peerDependenciesMeta)).toEqual(Object.keys(peerDependencies));
  });

  test('exports what the table in its README has, each with the client that it needs', () => {
    const printed = [...library.printed.matchAll(/^(@payonce\/\S+)(?: needs (.+))?$/gm)];
    const packed = printed
      .map(([, one = '', client]) => ({ name: one, client }))
      .filter((one) => one.name.split('/')[1] === name);
    expect(packed.length).toBeGreaterThan(1);
    expect(new Set(listed(name))).toEqual(new Set(packed));
  });
});

describe('an install', () => {
  const packagesIn = (folder: string) =>
    readdirSync(join(folder, 'node_modules')).filter((one) => !one.startsWith('.'));

  test('brings two packages and what these need: of clients, only the one that was asked for is there', () => {
    const names = ['@payonce', '@redis', 'p-limit', 'yocto-queue', 'zod'];
    expect(packagesIn(installed.folder)).toEqual(names);
  });

  test('of the leases brings nothing else', { timeout: 60_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'payonce-leases-'));
    stack.use(projectIn(folder));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    npmInstall(folder, ...library.tarballs.filter((one) => one.includes('payonce-leases-')));
    expect(packagesIn(folder)).toEqual(['@payonce']);
  });

  test('loads for Redis no more than 60 modules, neither its client nor zod before the first request', async () => {
    const code = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({
        load(url, context, next) {
          if (!url.startsWith('node:')) loaded.push(url);
          return next(url, context);
        },
      });
      await import('@payonce/lock-stores/redis');
      console.log(JSON.stringify(loaded));
    `;
    installed.write(new Map([['modules.mjs', code]]));
    const loaded = z.array(z.string()).parse(JSON.parse(await installed.run('modules.mjs')));
    expect(loaded.length).toBeGreaterThan(10);
    expect(loaded.length).toBeLessThanOrEqual(60);
    expect(loaded.filter((url) => !url.includes('@payonce/'))).toEqual([]);
  });
});

describe('without any client', { timeout: 180_000 }, () => {
  const parts = () =>
    packageNames.flatMap(listed).flatMap(({ name, client }) => (client === undefined ? name : []));

  test('the parts compile and load, as ES modules and as CommonJS', async () => {
    await using project = emptyProject(library);
    project.write(importAll(parts(), 'ts'));
    expect(await project.complaints()).toBe('');
    project.write(importAll(parts(), 'js'));
    await Promise.all(['all.mjs', 'all.cjs'].map((file) => project.run(file)));
  });

  test('a Node that is too old is told so by the import', async () => {
    const code = `
      delete Promise.withResolvers;
      for (const part of ['@payonce/leases', '@payonce/lock-stores/etcd'])
        console.log(await import(part).catch((error) => error.message));
    `;
    installed.write(new Map([['old.mjs', code]]));
    const message = `@payonce/leases needs Node 22.12 or later, not ${process.versions.node}`;
    expect(await installed.run('old.mjs')).toBe(`${message}\n${message}`);
  });

  test('metrics have names without a prefix', async () => {
    const code = `
      import { createLocks } from '@payonce/leases';
      import { memoryLockStore } from '@payonce/leases/memory';
      const names = new Set();
      const telemetry = { count: (name) => names.add(name), record: (name) => names.add(name) };
      const locks = createLocks(memoryLockStore(), { telemetry });
      const lease = await locks.tryAcquire('a', { instance: 'one', job: 'test' });
      await lease.release();
      console.log([...names].join());
    `;
    installed.write(new Map([['metrics.mjs', code]]));
    expect(await installed.run('metrics.mjs')).toBe('lease.acquired,lease.fence,lease.held_ms');
  });

  test('a store says which one is missing', async () => {
    installed.write(new Map([['blob.mjs', `import '@payonce/leases/blob';`]]));
    await expect(installed.run('blob.mjs')).rejects.toThrow(
      `Cannot find package '@azure/storage-blob' imported from`,
    );
  });
});

describeWith(redisPrograms, 'with one client', () => {
  test('its store works', async () => {
    await using redis = await startRedis();
    const code = `
      import { createLocks } from '@payonce/leases';
      import { redisLockStore } from '@payonce/lock-stores/redis';
      await using store = redisLockStore('${redis.url}');
      await using lease = await createLocks(store).tryAcquire('a', { instance: 'one', job: 'test' });
      console.log(lease.fence > 0);
    `;
    installed.write(new Map([['redis.mjs', code]]));
    expect(await installed.run('redis.mjs')).toBe('true');
  });
});

describe('with the clients', { timeout: 180_000 }, () => {
  const clients = () => packageNames.flatMap((name) => Object.keys(manifestOf(name).peerDependencies));

  test.each<CompilerOptions>([
    { module: 'node20', moduleResolution: 'node16', exactOptionalPropertyTypes: true },
    { module: 'preserve', moduleResolution: 'bundler', exactOptionalPropertyTypes: false },
  ])(
    'all declarations compile, as ES modules and as CommonJS, with moduleResolution $moduleResolution',
    async (options) => {
      await using project = emptyProject(library, clients());
      const all = packageNames.flatMap(listed).map(({ name }) => name);
      project.write(importAll(all, 'ts'));
      expect(await project.complaints(options)).toBe('');
    },
  );

  test('a program that loads them with require takes a lock', async () => {
    await using project = emptyProject(library, ['@azure/storage-blob', '@azure/cosmos']);
    const types = `
      import blob = require('@azure/storage-blob');
      import cosmos = require('@azure/cosmos');
      import leases = require('@payonce/leases/blob');
      import stores = require('@payonce/lock-stores/cosmos');
      leases.blobLockStore(new blob.ContainerClient('UseDevelopmentStorage=true', 'locks'));
      stores.cosmosLockStore(new cosmos.CosmosClient('…').database('payonce').container('locks'));
    `;
    const code = `
      const { ContainerClient } = require('@azure/storage-blob');
      const { createLocks } = require('@payonce/leases');
      const { blobLockStore } = require('@payonce/leases/blob');
      const container = new ContainerClient('${inject('azurite')}', 'locks-commonjs');
      createLocks(blobLockStore(container))
        .tryAcquire('a', { instance: 'one', job: 'test' })
        .then((lease) => lease.release().then(() => console.log(lease.fence > 0)));
    `;
    project.write(
      new Map([
        ['types.cts', types],
        ['program.cjs', code],
      ]),
    );
    expect(await project.complaints()).toBe('');
    expect(await project.run('program.cjs')).toBe('true');
  });

  test('all parts load, as ES modules and as CommonJS', async () => {
    await using project = emptyProject(library, clients());
    // Vitest loads only inside a test.
    const all = packageNames.flatMap(listed).filter(({ client }) => client !== 'vitest');
    project.write(
      importAll(
        all.map(({ name }) => name),
        'js',
      ),
    );
    await Promise.all(['all.mjs', 'all.cjs'].map((file) => project.run(file)));
  });

  test('the contract of lock stores runs in a project of its own', async () => {
    await using project = emptyProject(library, ['vitest']);
    project.write(new Map([['store.test.mjs', contractOfMemory]]));
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    // Most of the others take as long as a lease.
    const some = ['is idempotent for the same id', 'different keys are different locks', 'by force-release'];
    const { code, output } = await runProgram(
      vitest,
      ['run', '--root', project.folder, '--testNamePattern', some.join('|')],
      { ...process.env, NO_COLOR: '1' },
    );
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining(' 3 passed') });
  });
});

const contractOfMemory = `
  import { describe } from 'vitest';
  import { systemClock } from '@payonce/leases';
  import { lockStoreContract } from '@payonce/leases/testing';
  import { memoryLockStore } from '@payonce/leases/memory';

  const store = memoryLockStore();
  describe('my store', () =>
    lockStoreContract({
      store,
      clock: systemClock,
      leaseMs: 15_000,
      pass: (ms) => systemClock.sleep(ms),
      realTime: true,
      lose: async (key) => store.lose(key),
      startHolder: () => Promise.reject(new Error('not in this test')),
      canFreeze: false,
    }));
`;
