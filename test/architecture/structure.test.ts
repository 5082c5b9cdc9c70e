import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';

const src = fileURLToPath(new URL('../../src/', import.meta.url));
const files = globSync('**/*.ts', { cwd: src })
  .map((file) => file.replaceAll('\\', '/'))
  .map((file) => ({ file, text: readFileSync(join(src, file), 'utf8') }));

/** The folders that files of a folder may import from, besides their own. Generic parts know nothing of invoices. */
const generic = ['platform', 'documents', 'locking', 'pacing', 'outbox', 'workItems', 'runs'];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  documents: ['platform'],
  locking: ['platform', 'documents'],
  pacing: ['platform', 'documents'],
  outbox: ['platform', 'documents', 'locking'],
  workItems: ['platform', 'documents', 'locking'],
  runs: ['platform', 'documents', 'locking'],
  invoice: generic,
  importing: [...generic, 'invoice', 'stripe'],
  reporting: [...generic, 'invoice'],
  archive: [...generic, 'invoice'],
  paying: [...generic, 'invoice'],
  stripe: ['platform', 'invoice', 'paying'],
  claiming: [...generic, 'invoice', 'paying'],
  after: [...generic, 'invoice', 'paying', 'stripe'],
  ops: [...generic, 'invoice', 'importing', 'after', 'reporting', 'archive'],
  dashboard: ['platform'],
  settings: ['platform', 'paying', 'stripe'],
  functions: ['payonce.ts', 'platform', 'runs', 'dashboard', 'archive', 'ops'],
  testing: ['platform', 'documents', 'locking', 'outbox'],
  library: [...generic, 'testing'],
};

/** Where the parts are put together: everything is known here. */
const compositionRoot = ['app.ts', 'cloud.ts', 'idleApp.ts', 'lockStores.ts', 'payonce.ts'];

/** Files that implement a port with a package of Azure, or make its clients. By their names, or listed here. */
const implementations =
  /^functions\/|\/(cosmos|blob|serviceBus|storageQueue)[A-Z]\w*\.ts$|^platform\/(azureClients|exportTelemetry)\.ts$|^runs\/orchestrateRun\.ts$/;

function importsOf({ file, text }: (typeof files)[number]): string[] {
  return [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(file), name)).replaceAll('\\', '/') : name,
  );
}

const folderOf = (path: string) => path.split('/')[0] ?? '';

test('imports point one way', () => {
  const upward = files
    .filter(({ file }) => !compositionRoot.includes(file))
    .flatMap((one) =>
      importsOf(one)
        .filter((name) => files.some(({ file }) => file === name))
        .filter((name) => folderOf(name) !== folderOf(one.file))
        .filter((name) => !(mayImport[folderOf(one.file)] ?? []).includes(folderOf(name)))
        .map((name) => `${one.file} → ${name}`),
    );
  expect(upward).toEqual([]);
});

test('packages of Azure appear in implementations, triggers and the composition root only', () => {
  const elsewhere = files
    .filter(({ file }) => !implementations.test(file) && !compositionRoot.includes(file))
    .flatMap((one) =>
      importsOf(one)
        .filter((name) => name.startsWith('@azure/') || name === 'durable-functions')
        .map((name) => `${one.file} → ${name}`),
    );
  expect(elsewhere).toEqual([]);
});

test('what the library exports reaches no feature', () => {
  const { exports } = z
    .object({ exports: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(src, '..', 'package.json'), 'utf8')));
  const mayReach = [...generic, 'library', 'testing'];
  const reached = Object.entries(exports).flatMap(([subpath, source]) =>
    closureOf(source.replace('./src/', ''))
      .filter((file) => !mayReach.includes(folderOf(file)))
      .map((file) => `${subpath} → ${file}`),
  );
  expect(reached).toEqual([]);
});

/** The file, and every file of src that it imports, directly or not. */
function closureOf(file: string): string[] {
  const reached = new Set([file]);
  for (const next of reached) {
    const found = files.find((one) => one.file === next);
    if (found === undefined) throw new Error(`there is no src/${next}`);
    for (const name of importsOf(found)) if (files.some((one) => one.file === name)) reached.add(name);
  }
  return [...reached];
}

test('one place runs transactions, and the write loop is the only caller but for what is written once in a deployment', () => {
  const using = (text: string) =>
    files
      .filter((one) => one.text.includes(text) && folderOf(one.file) !== 'testing')
      .map(({ file }) => file)
      .toSorted();
  expect(using('.items.batch(')).toEqual(['documents/cosmosDocuments.ts']);
  expect(using('documents.transact(')).toEqual([
    'documents/writeUntilClear.ts',
    'locking/fence.ts',
    'paying/accountCheck.ts',
  ]);
});

test('the key of a lock and the name of a queue are each spelled in one place', () => {
  const spelled = (pattern: RegExp) =>
    files
      .filter(({ text }) => pattern.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')))
      .map(({ file }) => file);
  expect(spelled(/['"`]jobs\//)).toEqual(['locking/lockKeys.ts']);
  expect(spelled(/['"`]work-items\//)).toEqual(['locking/lockKeys.ts']);
  expect(spelled(/['"`]payment-commands['"`]/)).toEqual(['platform/azureNames.ts']);
  expect(spelled(/['"`]work-items['"`]/)).toEqual(['platform/azureNames.ts']);
  expect(spelled(/`invoice-\$\{/)).toEqual(['paying/chargeUnderKey.ts']);
});
