import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { removeFolder } from '../support/removeFolder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The packages that other teams import, without their scope. */
export const packageNames = ['leases', 'lock-stores', 'jobs'] as const;

/** These packages, packed. */
export interface PackedLibrary extends AsyncDisposable {
  tarballs: readonly string[];
  /** Folder with the content of a tarball. */
  folderOf(name: (typeof packageNames)[number]): string;
  /** Output of the script. */
  printed: string;
}

/** Packs them into a temporary folder. */
export async function packLibrary(): Promise<PackedLibrary> {
  const out = mkdtempSync(join(tmpdir(), 'payonce-library-'));
  const script = join(root, 'scripts', 'packLibrary.ts');
  const { stdout } = await run(process.execPath, [script, '--out', out]);
  const folderOf = (name: string) => join(out, name);
  return {
    tarballs: packageNames.map((name) =>
      join(out, `payonce-${name}-${manifestIn(folderOf(name)).version}.tgz`),
    ),
    folderOf,
    printed: stdout,
    [Symbol.asyncDispose]: async () => removeFolder(out),
  };
}

const manifest = z.object({
  version: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
});

/** The package.json in a folder. */
export function manifestIn(folder: string): z.infer<typeof manifest> {
  return manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
}

/** Options in which one project differs from another. */
export interface CompilerOptions {
  module?: 'NodeNext' | 'node20' | 'preserve';
  moduleResolution?: 'node16' | 'bundler';
  exactOptionalPropertyTypes?: boolean;
}

/** A project of somebody else: it has our packages and a few others, and nothing else. */
export interface EmptyProject extends AsyncDisposable {
  folder: string;
  write(files: ReadonlyMap<string, string>): void;
  /** Checks the types, strictly and down to the declarations of packages. Returns the compiler's complaints. */
  complaints(options?: CompilerOptions): Promise<string>;
  /** Runs one of its files; returns what that printed. Rejects if it fails. */
  run(file: string, args?: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>;
}

/**
 * Makes such a project. Our packages are copied, so that they find only what is in this project: links to what the repository has.
 * `packages` come with what ours depend on.
 */
export function emptyProject(library: PackedLibrary, packages: readonly string[] = []): EmptyProject {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-project-'));
  const modules = join(folder, 'node_modules');
  const own = packageNames.flatMap((name) => {
    cpSync(library.folderOf(name), join(modules, '@payonce', name), { recursive: true });
    return Object.keys(manifestIn(library.folderOf(name)).dependencies);
  });
  const others = [...own, ...packages, '@types/node'].filter((name) => !name.startsWith('@payonce/'));
  for (const name of new Set(others)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  return projectIn(folder);
}

/** A project in a folder that is there already. */
export function projectIn(folder: string): EmptyProject {
  return {
    folder,

    write(files) {
      for (const [name, text] of files) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), text);
      }
    },

    async complaints(options = {}) {
      const config = join(folder, 'tsconfig.json');
      writeFileSync(config, JSON.stringify({ compilerOptions: { ...strictest, ...options } }));
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
      return run(process.execPath, [tsc, '-p', config]).then(
        () => '',
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
      );
    },

    async run(file, args = [], env = {}) {
      const { stdout } = await run(process.execPath, [file, ...args], {
        cwd: folder,
        env: { ...process.env, ...env },
      });
      return stdout.trimEnd();
    },

    [Symbol.asyncDispose]: async () => removeFolder(folder),
  };
}

/** No DOM: only what Node has. */
const strictest = {
  target: 'ES2024',
  lib: ['ES2024', 'ESNext.Disposable'],
  types: ['node'],
  module: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};
