// npm run package -- local-azure [--out DIR]: packs packages/local-azure as payonce-local-azure-VERSION.tgz: compiled,
// because Node does not strip types in node_modules. Its package.json is made from the one there; what it depends on is read from
// the compiled files. Azurite's program is copied into it, so that what it never loads need not be installed.
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { compileTo } from './library/compileTo.ts';
import { neededPackages } from './library/neededPackages.ts';
import { writePages } from './library/pages.ts';
import { runNpm } from './library/runNpm.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const out = resolve(values.out);
const folder = join(out, 'local-azure');
const modules = join(root, 'node_modules');
const home = join(root, 'packages', 'local-azure');

const manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  private: z.literal(true),
  dependencies: z.record(z.string(), z.string()).default({}),
});
const versions = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Packages that Azurite loads only for telemetry or for a database server; azuriteChild.cjs keeps them from it. */
const unusedByAzurite = ['applicationinsights', 'sequelize', 'mysql2', 'tedious'];

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const entries = ['main.ts', 'index.ts', 'functionsHost/worker/main.ts'];
const loadedByName = ['functionsHost/worker/azureFunctionsCore.ts'];
compileTo(
  [...entries, ...loadedByName].map((name) => `packages/local-azure/src/${name}`),
  { folder: join(folder, 'dist'), sources: join(home, 'src') },
);
for (const name of ['azuriteChild.cjs', 'azuriteWithoutGc.cjs'])
  copyFileSync(join(home, 'src', name), join(folder, 'dist', name));
for (const name of ['dist', 'LICENSE', 'package.json'])
  cpSync(join(modules, 'azurite', name), join(folder, 'azurite', name), {
    recursive: true,
    filter: (path) => !/\.(map|d\.ts)$/.test(path),
  });

const { private: _private, ...own } = manifest.parse(readJson(join(home, 'package.json')));
const ours = versions.parse(readJson(join(root, 'package.json')));
const ofAzurite = manifest
  .omit({ private: true })
  .parse(readJson(join(modules, 'azurite/package.json'))).dependencies;
const needed = [...entries, ...loadedByName].flatMap((entry) => [
  ...neededPackages(folder, `dist/${entry.replace(/\.ts$/, '')}`),
]);
/** Only an app with a Cosmos DB trigger needs it, and it is large. */
const optional = '@azure/cosmos';
const dependencies = {
  ...Object.fromEntries(Object.entries(ofAzurite).filter(([name]) => !unusedByAzurite.includes(name))),
  ...Object.fromEntries(
    needed.filter((name) => ![optional, 'azurite'].includes(name)).map((name) => [name, rangeOf(name)]),
  ),
};
const published = {
  ...own,
  engines: { node: `>=${ours.devDependencies.node?.split('.')[0]}` },
  bin: { 'local-azure': './dist/main.js' },
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  files: ['dist', 'docs', 'azurite'],
  peerDependencies: { [optional]: rangeOf(optional) },
  peerDependenciesMeta: { [optional]: { optional: true } },
  dependencies: Object.fromEntries(Object.entries(dependencies).toSorted(([a], [b]) => (a < b ? -1 : 1))),
};
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
writePages(home, folder);
const tarball = join(out, runNpm(['pack', '--silent', '--pack-destination', out], folder).trim());
console.log(`${tarball}: ${Math.round(statSync(tarball).size / 1000)} kB`);

/** Returns the range of versions that are compatible with the one that the tests run on. */
function rangeOf(name: string): string {
  const installed = ours.dependencies[name] ?? ours.devDependencies[name];
  if (installed === undefined) throw new Error(`${name} is imported, but package.json does not have it`);
  return `^${installed}`;
}
