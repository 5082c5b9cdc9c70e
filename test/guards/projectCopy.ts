/** A copy of the project in which a file may be changed and its tests run. */
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const project = fileURLToPath(new URL('../../', import.meta.url));
export const vitest = join(project, 'node_modules/vitest/vitest.mjs');
/** Parts of the project that a test run needs, apart from `node_modules`, which is linked. */
const parts = [
  'src',
  'test',
  'local',
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
    // On Windows any user may create a junction; other systems create a plain link.
    await symlink(join(project, 'node_modules'), join(path, 'node_modules'), 'junction');
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}
