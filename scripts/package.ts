// npm run package [-- --out DIR]: builds the deployable app, as a folder and as a zip. It copies only
// production dependencies, at the versions in package-lock.json, from node_modules. So it needs no network,
// and the zip is reproducible.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Zippable, zipSync } from 'fflate';
import { z } from 'zod';

/** Size limits in megabytes. A larger package slows cold starts: find the dependency that grew. */
const largest = { folder: 60, zip: 18 };

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const folder = join(values.out, 'package');
const zip = join(values.out, 'payonce.zip');

const packageJson = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  type: z.literal('module'),
  main: z.string(),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.object({ node: z.string() }),
});
const lockJson = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
    }),
  ),
});

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
compile();
const { devDependencies, ...manifest } = packageJson.parse(readJson('package.json'));
// The repository's own `engines` is for the Node that runs npm; the app needs the version its tests run on.
const engines = { node: `>=${devDependencies.node.split('.')[0]}` };
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, engines }, null, 2)}\n`);
cpSync(join(root, 'host.json'), join(folder, 'host.json'));
const packages = copyProductionPackages();
const files = filesUnder(folder);
writeZip(files);
report();

/** Compiles src/ into the package folder, without source maps. */
function compile(): void {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  const out = join(folder, 'dist');
  const project = join(root, 'tsconfig.build.json');
  execFileSync(process.execPath, [tsc, '-p', project, '--outDir', out, '--sourceMap', 'false'], {
    stdio: 'inherit',
  });
}

/** Copies every production package in the lock file. Returns the number of packages. */
function copyProductionPackages(): number {
  const lock = lockJson.parse(readJson('package-lock.json'));
  let copied = 0;
  for (const [path, { version, dev = false, optional = false }] of Object.entries(lock.packages)) {
    if (path === '' || dev || path.startsWith('node_modules/@types/')) continue;
    const from = join(root, path);
    if (optional && !existsSync(from)) continue;
    const installed = z.object({ version: z.string() }).parse(readJson(`${path}/package.json`)).version;
    if (installed !== version)
      throw new Error(`${path} is installed as ${installed}, package-lock.json says ${version}: run npm ci`);
    cpSync(from, join(folder, path), {
      recursive: true,
      dereference: true,
      filter: (source) => isNeeded(relative(from, source).replaceAll('\\', '/'), source),
    });
    copied++;
  }
  return copied;
}

/** Whether a package's file or folder is needed at run time. Nested packages have their own lock entries. */
function isNeeded(path: string, source: string): boolean {
  if (path === 'node_modules' || path === 'dist/browser' || path === 'dist/react-native') return false;
  if (statSync(source).isDirectory()) return true;
  return !/\.(map|ts|mts|cts|flow)$|\.tsbuildinfo$|^(readme|changelog|history)\b.*\.md$/i.test(
    basename(source),
  );
}

/** All entries get the same time, so the same content gives the same zip. */
function writeZip(paths: readonly string[]): void {
  const entries: Zippable = {};
  for (const path of paths) {
    entries[path] = [readFileSync(join(folder, path)), { os: 3, attrs: 0o644 << 16 }];
  }
  writeFileSync(zip, zipSync(entries, { level: 6, mtime: new Date(2000, 0, 1) }));
}

function report(): void {
  const size = megabytes(files.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0));
  const zipped = megabytes(statSync(zip).size);
  console.log(`${folder}: ${files.length} files, ${packages} packages, ${size} MB`);
  console.log(`${zip}: ${zipped} MB`);
  if (size > largest.folder || zipped > largest.zip) {
    console.error(
      `larger than ${largest.folder} MB unpacked or ${largest.zip} MB zipped (scripts/package.ts)`,
    );
    process.exitCode = 1;
  }
}

function filesUnder(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => statSync(join(directory, path)).isFile())
    .sort();
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
