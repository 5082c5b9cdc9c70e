import { readdirSync, readFileSync } from 'node:fs';

export interface Route {
  method: string;
  /** With parameters in braces, without the prefix `api/`. */
  path: string;
}

const folder = new URL('../../src/functions/', import.meta.url);

/** Every HTTP route of the app, as its triggers declare them. */
export function httpRoutes(): Route[] {
  return readdirSync(folder).flatMap((file) => {
    const source = readFileSync(new URL(file, folder), 'utf8');
    const path = /route: '([^']+)'/.exec(source)?.[1];
    const methods = /methods: \[([^\]]+)\]/.exec(source)?.[1]?.match(/[A-Z]+/g) ?? [];
    return path === undefined ? [] : methods.map((method) => ({ method, path }));
  });
}
