import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file of the built dashboard, as it is sent. */
export interface BuiltFile {
  type: string;
  plain: Uint8Array;
  /** Compressed here, because the host may not. */
  gzipped: Uint8Array;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** The files of a folder by their paths in it, like `assets/index.js`; none if the dashboard has not been built. */
export function builtFiles(folder: string): ReadonlyMap<string, BuiltFile> {
  return new Map(
    pathsIn(folder).flatMap((path) => {
      const type = types[extname(path)];
      if (type === undefined) return [];
      const plain = readFileSync(join(folder, path));
      return [[path, { type, plain, gzipped: gzipSync(plain, { level: 9 }) }] as const];
    }),
  );
}

function pathsIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => path.replaceAll('\\', '/'));
}
