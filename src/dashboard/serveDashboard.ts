import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { appFolder } from '../platform/appFolder.ts';

/** The part of a request that decides what is sent. */
export interface PageRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly headers: { get(name: string): string | null };
}

export interface PageResponse {
  status?: number;
  headers: Record<string, string>;
  body: Uint8Array | string;
}

/** Scripts and styles come from this app alone, nothing is inline, and nobody may show the page in a frame. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Every answer's: the page is public and holds no data, so only its integrity needs care. */
const always = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'Accept-Encoding',
};

const plainText = { ...always, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

/** `GET ops/ui/{*path}`: a built file, or the page itself for every address of a view. The files are read once. */
export function serveDashboard(folder: string = join(appFolder(), 'dist', 'ui')) {
  let files: ReadonlyMap<string, BuiltFile> | undefined;
  return ({ params, headers }: PageRequest): PageResponse => {
    files ??= builtFiles(folder);
    const { path = '' } = params;
    const zipped = /\bgzip\b/i.test(headers.get('accept-encoding') ?? '');
    const file = files.get(path);
    if (file !== undefined && path !== 'index.html') {
      return sent(file, zipped, path.startsWith('assets/') ? 'no-cache' : 'public, max-age=3600');
    }
    if (path.startsWith('assets/')) {
      return { status: 404, headers: plainText, body: 'There is no such file: reload the page.\n' };
    }
    const page = files.get('index.html');
    if (page !== undefined) return sent(page, zipped, 'no-cache');
    files = undefined;
    return { status: 503, headers: plainText, body: 'The dashboard is not built: run npm run build.\n' };
  };
}

function sent({ type, plain, gzipped }: BuiltFile, zipped: boolean, cacheControl: string): PageResponse {
  return {
    headers: {
      ...always,
      'content-type': type,
      'cache-control': cacheControl,
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    },
    body: zipped ? gzipped : plain,
  };
}

/** A file of the built dashboard, as it is sent. */
interface BuiltFile {
  type: string;
  plain: Uint8Array;
  /** Compressed here, because the host may not. */
  gzipped: Uint8Array;
}

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** The files of a folder by their paths in it, like `assets/index.js`; none if the dashboard has not been built. */
export function builtFiles(folder: string): ReadonlyMap<string, BuiltFile> {
  return new Map(
    Object.entries(types).flatMap(([extension, type]) =>
      globSync(`**/*${extension}`, { cwd: folder }).map((path) => {
        const plain = readFileSync(join(folder, path));
        return [path.replaceAll('\\', '/'), { type, plain, gzipped: gzipSync(plain, { level: 9 }) }] as const;
      }),
    ),
  );
}
