// npm run package [-- --out DIR] [--locks redis,postgres,mysql]: bundles the deployable app, as a folder and as a zip, from
// node_modules at the versions in package-lock.json. So it needs no network, and the zip is reproducible. The folder lists the
// packages whose code is in it (sbom.cdx.json, as `npm sbom` writes it) and their licences. `--locks`: with the clients of these.
import { execFileSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { buildDashboard } from './buildDashboard.ts';
import { bundleApp, licencesOf, packagesOf, productionWith } from './bundle.ts';
import { checkTypes, filesUnder, packageOfApp, startApp, zipOf } from './compile.ts';

/** Size limits in megabytes. A larger package slows cold starts: find the dependency that grew. */
const largest = { folder: 20, zip: 5 };

const root = fileURLToPath(new URL('../', import.meta.url));
/** The clients of the stores that `LOCKS` may name, besides those of Azure and those that need none. */
const clients = { redis: '@redis/client', postgres: 'pg', mysql: 'mysql2' } as const;
const { values } = parseArgs({
  options: { out: { type: 'string', default: join(root, 'dist') }, locks: { type: 'string', default: '' } },
});
const stores = z
  .array(z.enum(['redis', 'postgres', 'mysql']))
  .safeParse(values.locks.split(',').filter(Boolean));
if (!stores.success) {
  console.error(
    `--locks: expected one or several of ${Object.keys(clients).join(', ')}, not "${values.locks}"`,
  );
  process.exit(2);
}
const folder = join(values.out, 'package');
const zip = join(values.out, 'payonce.zip');

const component = z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() });
const bomJson = z.looseObject({
  serialNumber: z.string(),
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

checkTypes();
const { dependencies: _, ...manifest } = packageOfApp();
startApp(folder, { ...manifest, main: 'dist/main.js' });
const inside = productionWith(stores.data.map((store) => clients[store]));
const bundled = await bundleApp(join(folder, 'dist'), inside);
const packages = packagesOf([...bundled, ...(await buildDashboard(join(folder, 'dist', 'ui')))]);
writeFileSync(join(folder, 'licenses.txt'), licencesOf(packages));
const named = new Set(packages.map(({ name, version }) => `${name}@${version}`));
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bomOf(named), null, 2)}\n`);
const files = filesUnder(folder);
writeFileSync(zip, zipOf(folder, files));
report();

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

function report(): void {
  const size = megabytes(files.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0));
  const zipped = megabytes(statSync(zip).size);
  console.log(`${folder}: ${files.length} files, ${named.size} packages, ${size} MB`);
  console.log(`${zip}: ${zipped} MB`);
  if (size > largest.folder || zipped > largest.zip) {
    console.error(
      `larger than ${largest.folder} MB unpacked or ${largest.zip} MB zipped (scripts/package.ts)`,
    );
    process.exitCode = 1;
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
