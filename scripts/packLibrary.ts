// npm run package -- library [--out DIR]: packs the packages that other teams import, each as payonce-NAME-VERSION.tgz: JavaScript,
// type declarations, README and guides. Its package.json is that of its folder, whose exports name the sources. What each subpath
// needs is read from the compiled files.
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compiledPath, compileTo } from './library/compileTo.ts';
import { clientsAmong, packedManifest, workspaceManifest } from './library/manifest.ts';
import { neededPackages } from './library/neededPackages.ts';
import { writePages } from './library/pages.ts';
import { runNpm } from './library/runNpm.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const out = resolve(values.out);
const compiled = join(out, 'compiled');

const packages = ['leases', 'lock-stores', 'jobs'].map((name) => ({
  name,
  manifest: workspaceManifest.parse(
    JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')),
  ),
}));
rmSync(compiled, { recursive: true, force: true });
// Together, since they import each other. All files are named: what is reached through node_modules is not compiled.
compileTo(globSync(`packages/{${packages.map(({ name }) => name).join()}}/src/**/*.ts`, { cwd: root }), {
  folder: compiled,
  sources: join(root, 'packages'),
});
for (const { name, manifest } of packages) {
  const folder = join(out, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(compiled, name, 'src'), join(folder, 'dist'), { recursive: true });
  const needed = new Map(
    Object.entries(manifest.exports).map(([subpath, source]) => [
      subpath,
      neededPackages(folder, compiledPath(source, 'js').replace(/\.js$/, '')),
    ]),
  );
  const packed = packedManifest(manifest, needed);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(packed, null, 2)}\n`);
  writePages(join(root, 'packages', name), folder);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const tarball = join(out, runNpm(['pack', '--silent', '--pack-destination', out], folder).trim());
  for (const [subpath, names] of needed) {
    const clients = clientsAmong(manifest, names);
    console.log(
      `${manifest.name}${subpath.slice(1)}${clients.length === 0 ? '' : ` needs ${clients.join(', ')}`}`,
    );
  }
  console.log(`${tarball}: ${Math.round(statSync(tarball).size / 1000)} kB`);
}
rmSync(compiled, { recursive: true });
