import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unzipSync } from 'fflate';
import { bundleOwnCode } from '../../scripts/bundle.ts';

const keptZips = fileURLToPath(new URL('./', import.meta.url));
const dependencies = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** App folders that a host can run; all use the repository's dependencies. */
export interface Releases {
  /** The newest kept release; the sources, while none is kept. */
  older: string;
  /** The sources, compiled. */
  current: string;
  /** The sources, as a release that raises `formatVersion` and sends receipts that older releases cannot do. */
  next: string;
}

/** Builds the app folders in a folder. */
export async function buildReleases(folder: string): Promise<Releases> {
  const [current, next] = [join(folder, 'current'), join(folder, 'next')];
  await bundleOwnCode(current);
  cpSync(current, next, { recursive: true });
  edit(next, /formatVersion = \d+;/, `formatVersion = ${formatVersionOf(current) + 1};`);
  edit(
    next,
    /return \{\s*resourceId: invoiceId,/,
    `return { version: ${formatVersionOf(next)}, resourceId: invoiceId,`,
  );
  for (const app of [current, next]) linkDependencies(app);
  return { older: keptRelease(folder) ?? current, current, next };
}

/** Unpacks the newest kept release (`npm run package -- release`) into a folder; its app folder. */
function keptRelease(folder: string): string | undefined {
  const zip = newestZip();
  if (zip === undefined) return undefined;
  const kept = join(folder, 'kept');
  unpack(readFileSync(zip), kept);
  linkDependencies(kept);
  return kept;
}

function linkDependencies(app: string): void {
  // A junction needs no privilege on Windows; elsewhere the type is ignored.
  symlinkSync(dependencies, join(app, 'node_modules'), 'junction');
}

/** A copy of an app folder that lacks these functions, as if they were disabled. */
export function without(app: string, functions: readonly string[]): string {
  const copy = `${app}-without-${functions.join('-')}`;
  cpSync(app, copy, { recursive: true, verbatimSymlinks: true });
  for (const name of functions) edit(copy, new RegExp(`app\\.\\w+\\(["']${name}["'],`), `void ("${name}",`);
  return copy;
}

export function formatVersionOf(app: string): number {
  const pattern = /formatVersion = (\d+);/;
  return Number(pattern.exec(readFileSync(fileWith(app, pattern), 'utf8'))?.[1]);
}

function newestZip(): string | undefined {
  const version = (name: string) => name.slice('payonce-'.length, -'.zip'.length);
  const newest = readdirSync(keptZips)
    .filter((name) => /^payonce-\d+\.\d+\.\d+\.zip$/.test(name))
    .toSorted((a, b) => version(a).localeCompare(version(b), 'en', { numeric: true }))
    .at(-1);
  return newest === undefined ? undefined : join(keptZips, newest);
}

function unpack(zip: Uint8Array, folder: string): void {
  for (const [name, content] of Object.entries(unzipSync(zip))) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

function edit(app: string, pattern: RegExp, text: string): void {
  const path = fileWith(app, pattern);
  writeFileSync(path, readFileSync(path, 'utf8').replace(pattern, text));
}

/** @throws if the code has changed so much that no file has this, or several */
function fileWith(app: string, pattern: RegExp): string {
  const [found, ...others] = globSync('dist/**/*.js', { cwd: app })
    .map((file) => join(app, file))
    .filter((path) => pattern.test(readFileSync(path, 'utf8')));
  if (found === undefined || others.length > 0)
    throw new Error(`expected one file with ${pattern} in ${app}`);
  return found;
}
