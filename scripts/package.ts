// npm run package [-- --out DIR]: builds the deployable app, as a folder and as a zip. It copies only
// production dependencies, at the versions in package-lock.json, from node_modules. So it needs no network,
// and the zip is reproducible.
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { buildDashboard } from './buildDashboard.ts';
import { compileApp, filesUnder, zipOf } from './compile.ts';

/** Size limits in megabytes. A larger package slows cold starts: find the dependency that grew. */
const largest = { folder: 60, zip: 18 };

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const folder = join(values.out, 'package');
const zip = join(values.out, 'payonce.zip');

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

compileApp(folder);
await buildDashboard(join(folder, 'dist', 'ui'));
const packages = copyProductionPackages();
const files = filesUnder(folder);
writeFileSync(zip, zipOf(folder, files));
report();

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

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
