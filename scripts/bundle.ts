import { globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { z } from 'zod';
import { packageOfApp, startApp } from './compile.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
/** Every function of the app, as one module that only this bundle has. */
const functions = 'functions';

const lockedPackage = z.object({
  version: z.string().optional(),
  dev: z.boolean().optional(),
  devOptional: z.boolean().optional(),
  optional: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
});
const lockJson = z.object({ packages: z.record(z.string(), lockedPackage) });
const lock = lockJson.parse(readJson('package-lock.json')).packages;
const installedJson = z.object({ name: z.string(), version: z.string(), license: z.string().optional() });

/** A package of which a bundle contains code. */
export interface BundledPackage {
  /** Path from the repository. */
  folder: string;
  name: string;
  version: string;
  /** SPDX expression. Undefined: its README has the licence. */
  license?: string | undefined;
}

/** True if the bundle may contain the package of this name. */
export type Inside = (name: string) => boolean;

/** The production dependencies in package-lock.json; clients that are installed only for tests stay outside. */
export const production: Inside = (name) => {
  const locked = lock[`node_modules/${name}`];
  return locked !== undefined && !locked.dev && !locked.devOptional && !locked.optional;
};

/** These packages too, with what they depend on. */
export function productionWith(names: readonly string[]): Inside {
  const added = new Set(names);
  for (const name of added)
    for (const needed of Object.keys(lock[`node_modules/${name}`]?.dependencies ?? {})) added.add(needed);
  return (name) => production(name) || added.has(name);
}

/**
 * Writes the functions and the packages that they use to a folder of the app: `main.js`, which the host loads, and chunks with
 * source maps. A module that is imported on demand is a chunk of its own. Nothing in it depends on where the folder is.
 * Returns the files that are in it.
 */
export async function bundleApp(folder: string, inside: Inside = production): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true });
  const files = globSync('src/functions/*.ts', { cwd: root }).sort();
  const bundle = await rolldown({
    input: functions,
    cwd: root,
    platform: 'node',
    // Constants keep their names: the tests of releases change one.
    optimization: { inlineConst: false },
    external: (id) => {
      const name = packageOf(id);
      return name !== undefined && id !== functions && !inside(name);
    },
    plugins: [
      {
        name: functions,
        resolveId: (id) => (id === functions ? id : undefined),
        load: (id) =>
          id === functions
            ? files.map((file) => `import ${JSON.stringify(join(root, file))};\n`).join('')
            : undefined,
      },
    ],
  });
  const { output } = await bundle.write({
    dir: folder,
    chunkFileNames: '[name].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // Stack traces name the sources as if they were beside the bundle.
    sourcemapPathTransform: (source, map) =>
      `../${relative(root, resolve(dirname(map), source)).replaceAll(sep, '/')}`,
  });
  await bundle.close();
  // Node maps only what it loads afterwards. NODE_OPTIONS would come too late: Azure starts the worker before it knows the app.
  writeFileSync(
    join(folder, 'main.js'),
    `process.setSourceMapsEnabled(true);\nawait import('./${functions}.js');\n`,
  );
  return output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
}

/**
 * Recreates the folder with the app, its packages and `host.json`, but without the packages of others, which package.json names.
 */
export async function bundleOwnCode(folder: string): Promise<void> {
  startApp(folder, { ...packageOfApp(), main: 'dist/main.js' });
  await bundleApp(join(folder, 'dist'), (name) => name.startsWith('@payonce/'));
  for (const map of globSync('dist/*.map', { cwd: folder })) rmSync(join(folder, map));
}

/** The packages that these files belong to, as installed, which must be as locked. */
export function packagesOf(files: readonly string[]): BundledPackage[] {
  const packages = new Map<string, BundledPackage>();
  for (const file of files) {
    const [, path] = /^(.*node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/.exec(file) ?? [];
    if (path === undefined) continue;
    const folder = relative(root, path).replaceAll(sep, '/');
    const installed = installedJson.parse(readJson(`${folder}/package.json`));
    const locked = lock[folder]?.version;
    if (installed.version !== locked)
      throw new Error(
        `${folder} is installed as ${installed.version}, package-lock.json says ${locked}: run npm ci`,
      );
    packages.set(`${installed.name}@${locked}`, { folder, ...installed });
  }
  return [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** The licences of these packages, with the texts that they come with. */
export function licencesOf(packages: readonly BundledPackage[]): string {
  return packages
    .map(({ folder, name, version, license }) => {
      const texts = readdirSync(join(root, folder))
        .filter((file) => (license === undefined ? /^readme/i : /^(licen[cs]e|notice|copying)\b/i).test(file))
        .sort()
        .map((file) =>
          readFileSync(join(root, folder, file), 'utf8')
            .replaceAll('\r\n', '\n')
            .trim(),
        );
      const title = license === undefined ? `${name}@${version}` : `${name}@${version}: ${license}`;
      return [title, ...texts].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
    .concat('\n');
}

/** The name of the package that a specifier names; undefined if it names a file. */
function packageOf(id: string): string | undefined {
  return /^(?![.\0/]|node:|[A-Z]:)(?:@[^/]+\/)?[^/]+/i.exec(id)?.[0];
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}
