import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project folder. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Every source file of the app: path under src/ → text. */
export const sources: ReadonlyMap<string, string> = new Map(
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, 'src', path), 'utf8')]),
);

export const allSources = [...sources.values()].join('\n');
