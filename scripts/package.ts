// npm run package [-- --out DIR]: builds the deployable app, as a folder and as a zip. It copies only
// production dependencies, at the versions in package-lock.json, from node_modules. So it needs no network,
// and the zip is reproducible. Both have a list of these dependencies (sbom.cdx.json, as `npm sbom` writes it).
import { execFileSync } from 'node:child_process';
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
      /** A folder of this repository. */
      link: z.boolean().optional(),
    }),
  ),
});

const installedJson = z.object({ name: z.string(), version: z.string() });
const component = z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() });
const bomJson = z.looseObject({
  serialNumber: z.string(),
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

compileApp(folder);
await buildDashboard(join(folder, 'dist', 'ui'));
const packages = copyProductionPackages();
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bomOf(packages), null, 2)}\n`);
const files = filesUnder(folder);
writeFileSync(zip, zipOf(folder, files));
report();

/** Copies every production package in the lock file. Returns them as `name@version`. */
function copyProductionPackages(): Set<string> {
  const lock = lockJson.parse(readJson('package-lock.json'));
  const copied = new Set<string>();
  for (const [path, { version, dev, optional, link }] of Object.entries(lock.packages)) {
    if (path === '' || dev || link || path.startsWith('node_modules/@types/')) continue;
    const from = join(root, path);
    if (optional && !existsSync(from)) continue;
    const installed = installedJson.parse(readJson(`${path}/package.json`));
    if (installed.version !== version)
      throw new Error(
        `${path} is installed as ${installed.version}, package-lock.json says ${version}: run npm ci`,
      );
    cpSync(from, join(folder, path), {
      recursive: true,
      dereference: true,
      filter: (source) => isNeeded(relative(from, source).replaceAll('\\', '/'), source),
    });
    copied.add(`${installed.name}@${version}`);
  }
  return copied;
}

/**
 * The software bill of materials of these packages (https://cyclonedx.org). `npm sbom --omit dev` leaves out production packages that
 * development ones need too, so it lists all of them here. What differs from one time to the next is dropped.
 */
function bomOf(packages: ReadonlySet<string>) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const all = execFileSync(npm, ['sbom', '--sbom-format', 'cyclonedx'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    shell: process.platform === 'win32',
  });
  const { serialNumber: _, metadata, components, dependencies, ...bom } = bomJson.parse(JSON.parse(all));
  const refs = new Set(components.filter(isHere).map((one) => one['bom-ref']));
  const app = metadata.component['bom-ref'];
  return {
    ...bom,
    metadata: { component: { ...metadata.component, name: 'payonce' } },
    components: components.filter(isHere),
    dependencies: dependencies
      .filter(({ ref }) => ref === app || refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
  };

  function isHere({ name, version }: { name: string; version: string }): boolean {
    return packages.has(`${name}@${version}`);
  }
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
  console.log(`${folder}: ${files.length} files, ${packages.size} packages, ${size} MB`);
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
