import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appVersion } from '../../src/platform/appFolder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A version of the app that hosts can run. */
export interface DemoBuild {
  version: string;
  /** Folder of the app. */
  folder: string;
}

/** The app that this project is. */
export function currentBuild(): DemoBuild {
  return { version: appVersion(root), folder: root };
}

/** Makes the build that follows another one, in a folder of its own: sources run as they are, so a copy of them is a build. */
export function nextBuild(after: DemoBuild, parent: string): DemoBuild {
  const version = after.version.replace(/\d+$/, (patch) => `${Number(patch) + 1}`);
  const folder = join(parent, version);
  for (const own of ['src', 'local/demo', 'host.json'])
    cpSync(join(root, own), join(folder, own), { recursive: true });
  mkdirSync(join(folder, 'dist'));
  // A junction needs no privilege on Windows; elsewhere the type is ignored.
  for (const shared of ['node_modules', 'packages', 'test', 'dist/ui'])
    symlinkSync(join(root, shared), join(folder, shared), 'junction');
  const described = readFileSync(join(root, 'package.json'), 'utf8');
  writeFileSync(
    join(folder, 'package.json'),
    described.replace(/"version": "[^"]+"/, `"version": "${version}"`),
  );
  return { version, folder };
}
