import { globSync, readFileSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { extname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { HostStartError } from '../hostStartError.ts';

const packageJson = z.looseObject({
  name: z.string().optional(),
  main: z.string({ error: 'expected a file or glob' }),
});

export interface LoadedApp {
  /** Package name, if any. */
  name: string | undefined;
  /** Loaded entry points, relative to the app's folder, with `/` on every system. */
  files: string[];
}

/**
 * Loads what `main` in package.json names, with `@azure/functions-core` in place so that functions register
 * themselves. Takes ESM, CommonJS and TypeScript (as Node runs it).
 */
export async function loadApp(appDir: string): Promise<LoadedApp> {
  const path = join(appDir, 'package.json');
  const parsed = packageJson.safeParse(readJson(path));
  if (!parsed.success) throw new HostStartError(`${path}: ${z.prettifyError(parsed.error)}`);
  const { main, name } = parsed.data;
  const files = entryPoints(appDir, main);
  if (files.length === 0) throw new HostStartError(`${path}: main "${main}" matches no file`);
  supplyFunctionsCore();
  for (const file of files) await import(pathToFileURL(join(appDir, file)).href);
  return { name, files };
}

/**
 * The files that `main` matches. If `main` points into dist/ and the build is missing or stale: the sources
 * beside it (`dist/src/functions/*.js` → `src/functions/*.ts`). A build is stale if an entry point is
 * not built, if a built one has lost its source, or if any file in the sources' folder is newer than the
 * newest built entry point.
 */
export function entryPoints(appDir: string, main: string): string[] {
  const find = (pattern: string) =>
    globSync(pattern, { cwd: appDir })
      .map((file) => file.replaceAll(sep, '/'))
      .sort();
  const built = find(main);
  const sourcePattern = /^(?:\.\/)?dist\/(.+)\.js$/.exec(main)?.[1];
  if (sourcePattern === undefined) return built;
  const sources = find(`${sourcePattern}.ts`).filter((file) => !file.endsWith('.d.ts'));
  if (sources.length === 0) return built;
  const compiled = new Set(built.map((file) => file.replace(/^dist\//, '').replace(/\.js$/, '.ts')));
  if (compiled.size !== sources.length || !sources.every((file) => compiled.has(file))) return sources;
  const newest = (files: string[]) => Math.max(...files.map((file) => statSync(join(appDir, file)).mtimeMs));
  const folder = sourcePattern.split('/')[0] ?? '.';
  return newest(find(`${folder}/**/*.ts`)) > newest(built) ? sources : built;
}

let supplied = false;

/** Makes the name `@azure/functions-core` resolve to this host's module, for `import` and `require`. */
function supplyFunctionsCore(): void {
  if (supplied) return;
  supplied = true;
  const extension = extname(import.meta.url);
  const url = new URL(`./azureFunctionsCore${extension}`, import.meta.url).href;
  const format = extension === '.ts' ? 'module-typescript' : 'module';
  registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === '@azure/functions-core'
        ? { url, format, shortCircuit: true }
        : nextResolve(specifier, context),
  });
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new HostStartError(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
}
