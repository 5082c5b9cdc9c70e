import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const files = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: root })
  .map((file) => file.replaceAll('\\', '/'))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
const known = new Set(files.map(({ file }) => file));

/** The packages of this repository that code may import, by where it is. */
const packagesFor: Readonly<Record<string, readonly string[]>> = {
  src: ['leases', 'lock-stores', 'jobs'],
  'packages/leases': [],
  'packages/lock-stores': ['leases'],
  'packages/jobs': ['leases'],
  'packages/local-azure': [],
};

/** The folders that files of a folder may import from, besides their own. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'src/platform': [],
  'src/invoice': ['src/platform'],
  'src/importing': ['src/platform', 'src/invoice', 'src/stripe'],
  'src/archive': ['src/platform', 'src/invoice'],
  'src/paying': ['src/platform', 'src/invoice'],
  'src/stripe': ['src/platform', 'src/invoice', 'src/paying'],
  'src/claiming': ['src/platform', 'src/invoice', 'src/paying'],
  'src/after': ['src/platform', 'src/invoice', 'src/paying', 'src/stripe'],
  'src/ops': ['src/platform', 'src/invoice', 'src/importing', 'src/after', 'src/archive'],
  'src/dashboard': ['src/platform'],
  'src/settings': ['src/platform', 'src/paying', 'src/stripe'],
  'src/functions': ['src/payonce.ts', 'src/platform', 'src/dashboard', 'src/archive', 'src/ops'],
  'packages/jobs/src/documents': [],
  'packages/jobs/src/claims': ['packages/jobs/src/documents'],
  'packages/jobs/src/rate': ['packages/jobs/src/documents'],
  'packages/jobs/src/outbox': ['packages/jobs/src/documents'],
  'packages/jobs/src/workItems': ['packages/jobs/src/documents'],
  'packages/jobs/src/runs': ['packages/jobs/src/documents', 'packages/jobs/src/claims'],
};

/** Where the parts are put together: everything is known here. */
const compositionRoot = [
  'src/app.ts',
  'src/cloud.ts',
  'src/idleApp.ts',
  'src/lockStores.ts',
  'src/payonce.ts',
];

/** Files that implement a port with a package of Azure, or make its clients. By their names, or listed here. */
const implementations =
  /^src\/functions\/|\/(cosmos|blob|serviceBus|storageQueue)[A-Z]\w*\.ts$|^src\/platform\/(azureClients|exportTelemetry)\.ts$|\/orchestrateRun\.ts$/;

function importsOf({ file, text }: (typeof files)[number]): string[] {
  return [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(file), name)).replaceAll('\\', '/') : name,
  );
}

const homeOf = (path: string) => /^src|^packages\/[^/]+/.exec(path)?.[0] ?? path;
/** The folder right below `src`; a file that is in no folder stands for itself, and so does what is not ours. */
const folderOf = (path: string) => /^(?:packages\/[^/]+\/)?src\/[^/]+/.exec(path)?.[0] ?? path;

test('packages import one way, by the names that they export', () => {
  const wrong = files.flatMap((one) =>
    importsOf(one)
      .filter((name) =>
        known.has(name)
          ? homeOf(name) !== homeOf(one.file)
          : name.startsWith('@payonce/') &&
            !(packagesFor[homeOf(one.file)] ?? []).includes(name.split('/')[1] ?? ''),
      )
      .map((name) => `${one.file} → ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('imports of folders point one way', () => {
  const upward = files
    .filter(({ file }) => !compositionRoot.includes(file))
    .flatMap((one) => {
      const folder = folderOf(one.file);
      const allowed = mayImport[folder];
      if (allowed === undefined && homeOf(folder) !== 'src') return [];
      return importsOf(one)
        .filter((name) => known.has(name) && folderOf(name) !== folder && !isShared(name))
        .filter((name) => !(allowed ?? []).includes(folderOf(name)))
        .map((name) => `${one.file} → ${name}`);
    });
  expect(upward).toEqual([]);
});

/** A file of a package that is in no folder: all of its folders use it. */
function isShared(file: string): boolean {
  return file.startsWith('packages/') && folderOf(file) === file;
}

test('packages of Azure appear in implementations, triggers and the composition root only', () => {
  const elsewhere = files
    .filter(({ file }) => homeOf(file) !== 'packages/local-azure')
    .filter(({ file }) => !implementations.test(file) && !compositionRoot.includes(file))
    .flatMap((one) =>
      importsOf(one)
        .filter((name) => name.startsWith('@azure/') || name === 'durable-functions')
        .map((name) => `${one.file} → ${name}`),
    );
  expect(elsewhere).toEqual([]);
});

test('what is deployed imports nothing of local/ or of tests, where guards can be switched off', () => {
  const deployed = globSync(
    ['src/**/*.ts', 'packages/{leases,lock-stores,jobs}/src/**/*.ts', 'ui/src/**/*.ts*'],
    {
      cwd: root,
    },
  ).map((file) => ({ file: file.replaceAll('\\', '/'), text: readFileSync(join(root, file), 'utf8') }));
  expect(deployed.length).toBeGreaterThan(300);
  const outside = deployed.flatMap((one) =>
    importsOf(one)
      .filter((name) => /^(local|test|ui\/demo)\//.test(name))
      .map((name) => `${one.file} → ${name}`),
  );
  expect(outside).toEqual([]);
});

test('packages know nothing of invoices and payments', () => {
  const knowing = files
    .filter(({ file }) => homeOf(file) !== 'src')
    .filter(({ text }) => /invoice|stripe/i.test(text))
    .map(({ file }) => file);
  expect(knowing).toEqual([]);
});

test('one place runs transactions, and the write loop is the only caller but for what is written once in a deployment', () => {
  const using = (text: string) =>
    files
      .filter((one) => /^src|packages\/jobs/.test(homeOf(one.file)) && !one.file.includes('/testing/'))
      .filter((one) => one.text.includes(text))
      .map(({ file }) => file)
      .toSorted();
  expect(using('.items.batch(')).toEqual(['packages/jobs/src/documents/cosmosDocuments.ts']);
  expect(using('documents.transact(')).toEqual([
    'packages/jobs/src/claims/fence.ts',
    'packages/jobs/src/documents/writeUntilClear.ts',
    'src/paying/accountCheck.ts',
  ]);
});

test('the key of a lock and the name of a queue are each spelled in one place', () => {
  const spelled = (pattern: RegExp) =>
    files
      .filter(({ text }) => pattern.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')))
      .map(({ file }) => file);
  expect(spelled(/['"`]jobs\//)).toEqual(['packages/leases/src/lockKeys.ts']);
  expect(spelled(/['"`]work-items\//)).toEqual(['packages/leases/src/lockKeys.ts']);
  expect(spelled(/['"`]payment-commands['"`]/)).toEqual(['src/platform/azureNames.ts']);
  expect(spelled(/['"`]work-items['"`]/)).toEqual(['src/platform/azureNames.ts']);
  expect(spelled(/`invoice-\$\{/)).toEqual(['src/paying/idempotencyKey.ts']);
});
