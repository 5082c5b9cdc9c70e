import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** The folder of the app, which holds its host.json: the repository, or the package that is deployed. */
export function appFolder(from: string = import.meta.dirname): string {
  if (existsSync(join(from, 'host.json'))) return from;
  const parent = dirname(from);
  if (parent === from) throw new Error('there is no host.json above the code: expected the folder of an app');
  return appFolder(parent);
}

/** The version in the app's package.json. */
export function appVersion(folder: string = appFolder()): string {
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
