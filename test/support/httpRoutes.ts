import { readFileSync } from 'node:fs';
import { calls } from '../../src/ops/calls.ts';

export interface Route {
  method: string;
  /** With parameters in braces, without the prefix `api/`. */
  path: string;
}

const triggers = readFileSync(new URL('../../src/functions/http.ts', import.meta.url), 'utf8');

/** Every HTTP route of the app: those of the table, which need a key, and those that their trigger names. Open: no key. */
export function httpRoutes(): (Route & { open: boolean })[] {
  const named = triggers.split('app.http(').flatMap((trigger) => {
    const path = /route: '([^']+)'/.exec(trigger)?.[1];
    const method = /methods: \['([A-Z]+)'\]/.exec(trigger)?.[1];
    const open = trigger.includes("authLevel: 'anonymous'");
    return path === undefined || method === undefined ? [] : [{ method, path, open }];
  });
  return [
    ...Object.values(calls).map(({ method, route }) => ({ method, path: route, open: false })),
    ...named,
  ];
}
