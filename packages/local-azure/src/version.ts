import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { z } from 'zod';

const manifest = z.object({ name: z.string(), version: z.string() });

/** Name and version of the package that this file belongs to, for `--version`. */
export function version(): string {
  const path = findPackageJSON(import.meta.url);
  if (path === undefined) throw new Error('this file is in no package');
  const { name, version: number } = manifest.parse(JSON.parse(readFileSync(path, 'utf8')));
  return `${name} ${number}`;
}
