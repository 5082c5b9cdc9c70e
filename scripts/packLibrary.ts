// npm run pack:library [-- --out DIR]: packs the parts that other teams import, as payonce-VERSION.tgz. The tarball holds
// JavaScript, type declarations, the guides and a package.json made from the repository's: `exports` there is the one list
// of subpaths. What each subpath needs is read from the compiled files.
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compiledPath, compileLibrary } from './library/compileLibrary.ts';
import { clientsAmong, libraryManifest, rootManifest } from './library/manifest.ts';
import { neededPackages } from './library/neededPackages.ts';
import { writePages } from './library/pages.ts';
import { runNpm } from './library/runNpm.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const out = resolve(values.out);
const folder = join(out, 'library');

const manifest = rootManifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
compileLibrary(Object.values(manifest.exports), join(folder, 'dist'));
const needed = new Map(
  Object.entries(manifest.exports).map(([subpath, source]) => [
    subpath,
    neededPackages(folder, compiledPath(source, 'js').replace(/\.js$/, '')),
  ]),
);
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify(libraryManifest(manifest, needed), null, 2)}\n`,
);
writePages(root, folder);
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
const packed = runNpm(['pack', '--silent', '--pack-destination', out], folder);
const tarball = join(out, packed.trim());

for (const [subpath, packages] of needed) {
  const clients = clientsAmong(packages);
  console.log(
    `${manifest.name}${subpath.slice(1)}${clients.length === 0 ? '' : ` needs ${clients.join(', ')}`}`,
  );
}
console.log(`${tarball}: ${Math.round(statSync(tarball).size / 1000)} kB`);
