import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { filesUnder } from '../../scripts/compile.ts';
import { runNpm } from '../../scripts/library/runNpm.ts';
import { runProgram } from '../support/runProgram.ts';
import { describeWith } from '../support/servers/findProgram.ts';
import { redisPrograms, startRedis } from '../support/servers/redis.ts';
import {
  type EmptyProject,
  emptyProject,
  type PackedLibrary,
  packLibrary,
  projectIn,
} from './emptyProject.ts';
import { readSubpaths } from './page.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const stack = new AsyncDisposableStack();
let library: PackedLibrary;
/** The tarball and one client, as npm installs them into an empty folder. */
let installed: EmptyProject;

beforeAll(async () => {
  library = stack.use(await packLibrary());
  installed = stack.use(projectIn(mkdtempSync(join(tmpdir(), 'payonce-installed-'))));
  writeFileSync(join(installed.folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--silent'];
  runNpm(['install', ...quietly, library.tarball, 'redis'], installed.folder);
}, 120_000);
afterAll(() => stack.disposeAsync());

const manifestSchema = z.object({
  exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
  peerDependencies: z.record(z.string(), z.string()),
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
});
const manifest = () =>
  manifestSchema.parse(JSON.parse(readFileSync(join(library.folder, 'package.json'), 'utf8')));
const importAll = (subpaths: readonly string[]) =>
  subpaths.map((subpath, n) => `export * as part${n} from 'payonce${subpath.slice(1)}';\n`).join('');

describe('the tarball', () => {
  test('holds compiled code with its declarations, the guides, a README and the licence', () => {
    const outside = filesUnder(library.folder).filter((file) => !/^dist\/.+\.(js|d\.ts)$/.test(file));
    const guides = readdirSync(join(root, 'docs', 'guides')).map((name) => `docs/guides/${name}`);
    expect(outside).toEqual(['LICENSE', 'README.md', ...guides, 'package.json'].toSorted());
  });

  test('holds nothing of invoices', () => {
    const features = ['after', 'claiming', 'functions', 'importing', 'invoice', 'ops', 'paying', 'settings'];
    const files = filesUnder(join(library.folder, 'dist'));
    const ofFeatures = files.filter((file) => features.includes(file.split('/')[0] ?? ''));
    expect(ofFeatures).toEqual([]);
    expect(files.filter((file) => !file.includes('/'))).toEqual([]);
  });

  test('brings two packages and what these need: of clients, only the one that was asked for is there', () => {
    const modules = readdirSync(join(installed.folder, 'node_modules'));
    const packages = modules.filter((name) => !name.startsWith('.'));
    expect(packages).toEqual(['@redis', 'p-limit', 'payonce', 'redis', 'yocto-queue', 'zod']);
  });

  test('makes every client optional', () => {
    const { peerDependencies, peerDependenciesMeta } = manifest();
    expect(Object.keys(peerDependenciesMeta)).toEqual(Object.keys(peerDependencies));
  });

  test('has the subpaths of the table in docs/parts.md, each with the client that it needs', () => {
    const printed = [...library.printed.matchAll(/^payonce(\/\S+)(?: needs (.+))?$/gm)];
    const packed = printed.map(([, subpath = '', client]) => ({ subpath: `.${subpath}`, client }));
    expect(readSubpaths('docs/parts.md')).toEqual(packed);
    expect(Object.keys(manifest().exports)).toEqual(packed.map(({ subpath }) => subpath));
  });
});

describe('without any client', { timeout: 180_000 }, () => {
  const parts = () =>
    readSubpaths('docs/parts.md').flatMap(({ subpath, client }) => (client === undefined ? subpath : []));

  test('the parts compile and load', async () => {
    await using project = emptyProject(library);
    project.write(new Map([['parts.ts', importAll(parts())]]));
    expect(await project.complaints()).toBe('');
    await project.run('parts.ts');
  });

  test('metrics have names without a prefix', async () => {
    const code = `
      import { createLocks } from 'payonce/locks';
      import { memoryLockStore } from 'payonce/testing/memory';
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
    installed.write(new Map([['blob.mjs', `import 'payonce/locks/blob';`]]));
    await expect(installed.run('blob.mjs')).rejects.toThrow(
      `Cannot find package '@azure/storage-blob' imported from`,
    );
  });
});

describeWith(redisPrograms, 'with one client', () => {
  test('its store works', async () => {
    await using redis = await startRedis();
    const code = `
      import { createLocks } from 'payonce/locks';
      import { redisLockStore } from 'payonce/locks/redis';
      await using store = redisLockStore('${redis.url}');
      await using lease = await createLocks(store).tryAcquire('a', { instance: 'one', job: 'test' });
      console.log(lease.fence > 0);
    `;
    installed.write(new Map([['redis.mjs', code]]));
    expect(await installed.run('redis.mjs')).toBe('true');
  });
});

describe('with the clients', { timeout: 180_000 }, () => {
  test.each([true, false])(
    'all declarations compile, with exactOptionalPropertyTypes: %s',
    async (exactOptionalPropertyTypes) => {
      const { exports, peerDependencies } = manifest();
      await using project = emptyProject(library, Object.keys(peerDependencies));
      project.write(new Map([['all.ts', importAll(Object.keys(exports))]]));
      expect(await project.complaints({ exactOptionalPropertyTypes })).toBe('');
    },
  );

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
  import { systemClock } from 'payonce/locks';
  import { lockStoreContract } from 'payonce/testing';
  import { memoryLockStore } from 'payonce/testing/memory';

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
