/** A copy of the project in which a file may be changed and its tests run. */
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const project = fileURLToPath(new URL('../../', import.meta.url));
export const vitest = join(project, 'node_modules/vitest/vitest.mjs');
/** Parts of the project that a test run needs, apart from `node_modules`. */
const parts = [
  'src',
  'packages',
  'test',
  'local',
  'bench',
  'scripts',
  'host.json',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'vitest.full.config.ts',
];

export async function projectCopy(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'payonce-copy-'));
  const remove = () => rm(path, { recursive: true });
  try {
    for (const part of parts) await cp(join(project, part), join(path, part), { recursive: true });
    await linkModules(path);
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}

/** Links what is installed, and the packages of the copy instead of the project's. */
async function linkModules(copy: string): Promise<void> {
  const ours = '@payonce';
  await mkdir(join(copy, 'node_modules', ours), { recursive: true });
  // On Windows any user may create a junction; other systems create a plain link.
  const link = (to: string, name: string) => symlink(to, join(copy, 'node_modules', name), 'junction');
  for (const name of await readdir(join(project, 'node_modules')))
    if (name !== ours) await link(join(project, 'node_modules', name), name);
  for (const name of await readdir(join(project, 'packages')))
    await link(join(copy, 'packages', name), join(ours, name));
}
