import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesUnder } from '../compile.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Compiles these files, named from the root of the project, with everything that they import, to JavaScript and type declarations
 * in a folder. Each keeps its place below `sources`.
 */
export function compileTo(
  files: readonly string[],
  { folder, sources }: { folder: string; sources: string },
): void {
  const project = join(folder, 'tsconfig.json');
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      // Without `using` and whatever else Node 22 cannot read.
      target: 'ES2023',
      rootDir: sources,
      outDir: folder,
      typeRoots: [join(root, 'node_modules', '@types')],
      declaration: true,
      sourceMap: false,
    },
    files: files.map((file) => join(root, file)),
    include: [],
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(project, JSON.stringify(config));
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' });
  rmSync(project);
  for (const file of filesUnder(folder).filter((name) => name.endsWith('.d.ts'))) {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(relativeImport, '$1.js$2'));
  }
}

/** The compiler rewrites the extension of an import in JavaScript, but not in declarations. */
const relativeImport = /((?:from |import\()['"]\.{1,2}\/[^'"]*)\.ts(['"])/g;

/** Converts the path of a source to that of its output, relative to the package: `./src/a/b.ts` → `./dist/a/b.js`. */
export function compiledPath(source: string, extension: 'js' | 'd.ts'): string {
  return source.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, `.${extension}`);
}
