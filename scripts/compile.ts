import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Zippable, zipSync } from 'fflate';
import { z } from 'zod';

const root = fileURLToPath(new URL('../', import.meta.url));

const packageJson = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  type: z.literal('module'),
  main: z.string(),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.object({ node: z.string() }),
});

/** Runs the TypeScript compiler on the app, and writes nothing. @throws if a type is wrong */
export function checkTypes(): void {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  const project = join(root, 'tsconfig.build.json');
  execFileSync(process.execPath, [tsc, '-p', project, '--noEmit'], { stdio: 'inherit' });
}

/** Recreates the folder with `host.json` and a `package.json` of this content. */
export function startApp(folder: string, manifest: Partial<z.infer<typeof packageJson>>): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { devDependencies: _, ...deployed } = manifest;
  // The repository's own `engines` is for the Node that runs npm; the app needs the version its tests run on.
  const engines = { node: `>=${packageOfApp().devDependencies.node.split('.')[0]}` };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...deployed, engines }, null, 2)}\n`);
  cpSync(join(root, 'host.json'), join(folder, 'host.json'));
}

/** The version that package.json has now. */
export function appVersion(): string {
  return packageOfApp().version;
}

/** The package.json of the repository. */
export function packageOfApp(): z.infer<typeof packageJson> {
  return packageJson.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
}

/** Every file under the folder, sorted, with `/` on every system. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();
}

/** A zip of the folder's files. All entries get the same time, so the same content gives the same bytes. */
export function zipOf(folder: string, files = filesUnder(folder)): Uint8Array {
  const entries: Zippable = {};
  for (const path of files) {
    entries[path] = [readFileSync(join(folder, path)), { os: 3, attrs: 0o644 << 16 }];
  }
  return zipSync(entries, { level: 6, mtime: new Date(2000, 0, 1) });
}
