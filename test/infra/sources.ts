import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project folder. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Every source file of the app and of the packages that it imports: path → text. Without what only tests use. */
export const sources: ReadonlyMap<string, string> = new Map(
  globSync(['src/**/*.ts', 'packages/{leases,lock-stores,jobs}/src/**/*.ts'], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !path.includes('/testing/'))
    .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
);

export const allSources = [...sources.values()].join('\n');
